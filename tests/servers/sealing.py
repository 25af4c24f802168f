"""What servers for tests know of their own replies, sealed in the state that they send.

So any server of a kind takes back what another one said, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

_SECRET = b"known to all servers of this kind"


def canonical(value: Any) -> bytes:
    """Return JSON that does not depend on spaces and the order of members."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(value: Any) -> str:
    """Return a short digest of a value."""
    return hashlib.sha256(canonical(value)).hexdigest()[:24]


def seal(value: Any) -> str:
    """Return a signature, in base64, that only this module can make."""
    data = canonical(value)
    return base64.b64encode(hmac.new(_SECRET, data, hashlib.sha256).digest() + data).decode()


def unseal(signature: str) -> Any:
    """Return what was sealed. Raises ValueError for anything else."""
    raw = base64.b64decode(signature, validate=True)
    if not hmac.compare_digest(hmac.new(_SECRET, raw[32:], hashlib.sha256).digest(), raw[:32]):
        raise ValueError
    return json.loads(raw[32:])
