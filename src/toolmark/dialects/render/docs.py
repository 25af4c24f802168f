"""Tool docs as text, in the forms that a prompt can show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from toolmark.dialects.render import python, xml

Docs: TypeAlias = Sequence[dict[str, Any]]
DocFormat: TypeAlias = Literal["python", "xml", "json"]


def render(docs: Docs, form: DocFormat) -> str:
    """Write the docs in the named form."""
    match form:
        case "json":
            return json.dumps(list(docs), indent=4)
        case "xml":
            return xml.render(docs)
        case "python":
            return python.render(docs)
