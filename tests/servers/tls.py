"""A certificate that nobody trusts, for 127.0.0.1; made for these tests, it guards nothing."""

from __future__ import annotations

import ssl
from pathlib import Path

_PEM = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghAI4GptKtetrpFRX
2okzvNDoA4fgp2NGICvOnd8RtiChRANCAATQxwKiX5VUtmFatxy0jr9TmEiDK7uz
qJdaSTfdSl/rbQpGqk2QBCAyQPiSK8iR6xK/U6q30ZnZGZll0CAOTcyO
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIUZcfnYN9h6vzlDeMD8rW6ig70VH0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTA3MDE0MVoYDzIxMjYxMDI4
MDcwMTQxWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATQxwKiX5VUtmFatxy0jr9TmEiDK7uzqJdaSTfdSl/rbQpGqk2QBCAy
QPiSK8iR6xK/U6q30ZnZGZll0CAOTcyOo2QwYjAdBgNVHQ4EFgQUeVuC/ykkPF27
uu2hLXtmZQeeWTYwHwYDVR0jBBgwFoAUeVuC/ykkPF27uu2hLXtmZQeeWTYwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IQDsPLZ312ZutqtXj2JlJHYOZ/CJhNrYY47vTg9hZtvdZwIgWyo04MPf/x/qNbeo
f3nvKD+SLUk7jWcfnw3Y2Hv4HlU=
-----END CERTIFICATE-----
"""


def context(folder: Path) -> ssl.SSLContext:
    """Return a server's TLS context with the certificate, written into the folder."""
    file = folder / "server.pem"
    file.write_text(_PEM)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(file)
    return made
