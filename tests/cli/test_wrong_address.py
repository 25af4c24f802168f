"""An endpoint that answers with a status and nothing else: what it means is said once."""

from __future__ import annotations

import pytest
from tests.servers.planning_endpoint import Command, Mind


@pytest.mark.parametrize("body", [b"", b"404", {"error": {"message": "404"}},
                                  {"detail": "Not Found"}, b"404 page not found"])  # fmt: skip
def test_a_run_at_a_wrong_address_says_so_once_with_the_next_step(
    toolmark: Command, mind: Mind, body: object
) -> None:
    mind.status, mind.body = 404, body
    ended = toolmark("run", "funcbench", "-m", mind.model, "-T", "graphs=1", "--max-retries", "0")
    said = [line for line in ended.err.splitlines() if "404" in line]
    assert said and all(line.count("404") == 1 for line in said), ended.err
    assert "not found" in said[0] and "check the address" in said[0]
    assert "404: 404" not in ended.out


def test_a_refusal_without_a_reason_names_a_next_step(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 400, b""
    ended = toolmark("run", "funcbench", "-m", mind.model, "-T", "graphs=1", "--max-retries", "0")
    assert "400: bad request; see the server's log" in ended.out
