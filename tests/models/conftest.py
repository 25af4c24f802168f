"""Tests of models talk to 127.0.0.1 only, whatever the machine's proxies and keys are."""

from __future__ import annotations

import pytest

_FOREIGN = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TOOLMARK_API_KEY")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_FOREIGN, *(name.lower() for name in _FOREIGN), *_KEYS):
        monkeypatch.delenv(name, raising=False)
