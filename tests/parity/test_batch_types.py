"""What is sent to submit batches, and what the test server says of them, has the vendors' types."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.models.test_batches import answer_body, ask_all, ask_for, with_models
from tests.parity.test_wire_types import find_faults
from tests.servers import fake
from tests.servers.batch_server import BatchServer

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Json = dict[str, Any]
WORDS = ("say", "call", "wrong", "expire", "cancel", "overload")


class ObservedServer(BatchServer):
    """A server that remembers the requests that create batches, and what it says of them."""

    observed: list[tuple[str, Json]]

    def _route(self, request: str, asked: fake.Asked) -> Json | bytes:
        found = super()._route(request, asked)
        vendor = "anthropic" if "/messages" in request else "openai"
        if request in ("POST /v1/batches", "POST /v1/messages/batches"):
            self.observed.append((f"{vendor} request", asked.json))
        if request.endswith("/results"):
            assert isinstance(found, bytes)
            self.observed += [("anthropic result", json.loads(line)) for line in found.split(b"\n")]
        elif isinstance(found, dict):
            kind = "file" if request.endswith("/files") else "batch"
            self.observed.append((f"{vendor} {kind}", found))
        return found


def test_both_sides_have_the_types_of_the_vendors(vendor_python: Path) -> None:
    observed: list[tuple[str, Json]] = []
    for wire in ("chat", "responses", "anthropic"):
        server = ObservedServer(answer_body)
        server.observed = observed

        async def work(batched: Any, single: Any) -> None:
            await ask_all(batched, [ask_for(word) for word in WORDS])

        asyncio.run(with_models(server, wire, work))
    assert {kind for kind, _ in observed} == {
        "openai request", "openai batch", "openai file", "anthropic request", "anthropic batch",
        "anthropic result",
    }  # fmt: skip
    assert set(find_faults(vendor_python, observed, "batch_types.py")) == {""}
