"""How models are asked is said alike to every command that asks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.servers import fake
from tests.servers.planning_endpoint import Command, Mind
from tests.suites.m3 import endpoints

from toolmark.cli import app
from toolmark.cli import command_options as options
from toolmark.core.errors import UsageError

COMMANDS: Any = typer.main.get_command(app.app)
HOW = {"--base-url", "--header", "--max-connections", "--max-retries", "--timeout", "--cache"}


def test_commands_that_ask_models_take_the_same_flags() -> None:
    asking = 0
    for name, command in COMMANDS.commands.items():
        flags = {flag for parameter in command.params for flag in parameter.opts}
        if "--max-retries" in flags:
            asking += 1
            assert flags >= HOW, name
        if "--judge-model" in flags:
            assert "-j" in flags, name
    assert asking == 4


def test_judges_are_asked_where_and_as_the_flags_say(
    toolmark: Command, mind: Mind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-judges-1234567890")
    run = endpoints.run(tmp_path)
    mind.body = fake.says(r"\boxed{1}")
    judges = [word for name in "abc" for word in ("-j", f"openai/{name}")]
    said = toolmark("judge", str(run.path), *judges, "--base-url", mind.url, "--kind", "completion",
                    "--header", "X-Auth: hush-hush")  # fmt: skip
    assert said.code == 0, said.err
    assert {asked.headers["x-auth"] for asked in mind.asked} == {"hush-hush"}
    assert {asked.headers["authorization"] for asked in mind.asked} == {
        "Bearer sk-judges-1234567890"
    }
    # one that answers elsewhere under the same name would be another judge
    assert {each.judge for each in run.judgements()} == {f"{mind.url}#{name}" for name in "abc"}
    saved = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"hush-hush" not in saved and b"sk-judges" not in saved


def test_a_header_goes_to_one_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*models: str) -> dict[str, Any]:
        return options.connection_settings(
            models,
            base_url=None,
            header=["K: v"],
            max_connections=1,
            max_retries=0,
            timeout=1.0,
            cache=None,
        )

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    one, other = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"
    assert asked(f"{one}#a", f"{one}#b", "control/null")["headers"] == [("K", "v")]
    with pytest.raises(UsageError, match="several addresses"):
        asked(f"{one}#a", f"{other}#a")
    with pytest.raises(UsageError, match="several addresses"):
        asked(f"{one}#a", "openai/a")


def test_the_plan_keeps_where_a_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    url = "http://127.0.0.1:1/v1"
    assert options.stored_base_url(["control/null", "openai/a"], url) == url
    assert options.stored_base_url(["control/null", "openai/a"], None) == ""
