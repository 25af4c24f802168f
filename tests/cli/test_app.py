"""The command line: what it prints, what it leaves behind, how it ends."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from PIL import Image
from tests.servers import fake
from tests.servers.planning_endpoint import Command, Mind

from toolmark.cli.app import app
from toolmark.core import json_codec, user_modules
from toolmark.core.records import Image as Picture
from toolmark.models import endpoint_profile, provider_table
from toolmark.runs.run_store import Run
from toolmark.suites import suite_registry


def first(found: dict[str, str]) -> str:
    return next(Run(Path(found["run_dir"])).tasks()).id


SMALL = ("-T", "core=4", "-T", "depth=2", "-T", "connected=2", "-T", "graphs=6", "--seed", "5")


def test_a_run_over_http_scores_and_says_what_is_next(toolmark: Command, mind: Mind) -> None:
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL)
    assert said.code == 0
    assert "success 100.0 % [61.0, 100.0]" in said.out
    assert "n=6, not run 0" in said.out
    assert "next: toolmark report runs/funcbench-" in said.out
    body = mind.asked[0].json
    assert (body["temperature"], body["top_p"]) == (0.0, 1.0)
    assert len(body["tools"]) == 6


def test_a_run_tells_what_it_took_and_calls_its_model_by_its_short_name(
    toolmark: Command, mind: Mind
) -> None:
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL)
    name = mind.model.partition("#")[2]
    assert said.out.splitlines()[0].split() == ["funcbench", name, "native"]
    assert f"  {len(mind.asked)} requests, tokens " in said.out
    found = json.loads(toolmark("run", "funcbench", "-m", mind.model, *SMALL, "--json").out)
    took = found["spent"]
    assert took["n_requests"] == len(mind.asked) / 2 and took["n_episodes"] == 6
    assert took["tokens"]["input"] > 0 and took["wall_s"] > 0


def test_an_episode_over_the_time_limit_is_not_run_and_asked_again_without(
    toolmark: Command, mind: Mind
) -> None:
    mind.wait_s = 30.0
    words = ("run", "funcbench", "-m", mind.model, *SMALL)
    said = toolmark(*words, "--time-limit", "0.5")
    assert said.code == 3 and "6 episodes: time_limit: took longer than 0.5 s" in said.out
    mind.wait_s = 0.0
    again = toolmark(*words, "--json")
    assert again.code == 0 and json.loads(again.out)["n_run"] == 6
    assert len(list(Path("runs").glob("*/"))) == 1


def test_json_is_the_only_thing_on_stdout(toolmark: Command, mind: Mind) -> None:
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL, "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert {"suite", "model", "tool_format", "n_planned", "n_run", "n_not_run", "score", "parts",
            "run_dir"} <= found.keys()  # fmt: skip
    assert found["score"].keys() >= {"name", "value", "low", "high"}
    assert Path(found["run_dir"], "trajectories.jsonl").exists()


def test_a_dead_server_is_not_scored(toolmark: Command) -> None:
    said = toolmark("run", "funcbench", "-m", "http://127.0.0.1:9/v1#x", *SMALL,
                    "--max-retries", "0", "--json")  # fmt: skip
    found = json.loads(said.out)
    assert said.code == 3
    assert (found["n_run"], found["n_not_run"]) == (0, 6)
    assert found["score"]["value"] is None
    assert found["score"]["low"] is None


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"choices": [', b""])
def test_a_body_that_is_not_json_is_the_endpoints_fault(
    toolmark: Command, mind: Mind, body: bytes
) -> None:
    mind.body = body
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL, "--max-retries", "0", "--json")
    assert said.code == 3
    assert json.loads(said.out)["n_not_run"] == 6


def test_a_refused_key_ends_at_once_with_the_next_step(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 401, {"error": {"message": "bad key"}}
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL)
    assert said.code == 3
    assert "TOOLMARK_API_KEY" in said.err
    assert len(mind.asked) <= 16


def test_the_same_command_completes_an_incomplete_run(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 500, {}
    words = ("run", "funcbench", "-m", mind.model, "-T", "core=4", "-T", "depth=2",
             "-T", "graphs=6", "--max-retries", "0", "--json")  # fmt: skip
    first = json.loads(toolmark(*words).out)
    mind.status, mind.body = 200, None
    second = json.loads(toolmark(*words).out)
    assert first["run_dir"] == second["run_dir"]  # the drawn seed is kept
    assert (first["n_run"], second["n_run"]) == (0, 6)


def test_keys_never_reach_the_disk(
    toolmark: Command, mind: Mind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOOLMARK_API_KEY", "sk-secret-1234567890")
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL, "--header", "X-Auth: hush-hush",
                    "--cache", "cache")  # fmt: skip
    assert said.code == 0
    assert mind.asked[0].headers["authorization"] == "Bearer sk-secret-1234567890"
    assert mind.asked[0].headers["x-auth"] == "hush-hush"
    saved = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-secret" not in saved
    assert b"hush-hush" not in saved


def test_the_cache_asks_nothing_twice(toolmark: Command, mind: Mind) -> None:
    words = ("run", "funcbench", "-m", mind.model, *SMALL, "--cache", "cache")
    assert toolmark(*words).code == 0
    asked = len(mind.asked)
    assert toolmark(*words).code == 0
    assert len(mind.asked) == asked
    assert toolmark(*words, "--repeats", "2").code == 0
    assert len(mind.asked) == 2 * asked  # the second repeat is another question


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "funcbnch", "-m", "control/null"), "no suite 'funcbnch'; did you mean: funcbench"),
        (("run", "funcbench", "-m", "control/nul"), "no control 'nul'; did you mean: null"),
        (("run", "funcbench", "-m", "opnai/gpt-5"), "did you mean: openai/"),
        (("run", "funcbench", "-m", "control/null", "-T", "cor=3"), "did you mean: core"),
        (("run", "m3-local", "-m", "control/null", "-T", "temperatur=1"),
         "known: family, instances, agent, similarity, cassette, mode, seed"),
        (("run", "funcbench", "-m", "control/null", "--tasks", "/dev/null"), "not a file"),
        (("run", "funcbench", "-m", "control/null", "-T", "core"), "expected NAME=VALUE"),
        (("run", "funcbench", "-m", "control/null", "-T", "core=x"),
         "parameter core: expected a whole number"),
        (("run", "funcbench", "-m", "control/null", "-T", "core=5", "-T", "depth=5"),
         "depth must be at most core - 1 = 4; got 5"),
        (("run", "bfcl", "-m", "control/null", "-T", "category=simple_pyton"), "simple_python"),
        (("run", "funcbench", "-m", "control/null", "--extra-body", "[1]"),
         "expected a JSON object"),
        (("run", "funcbench", "-m", "control/null", "--extra-body", "{"), "not JSON"),
        (("run", "funcbench", "-m", "control/null", "--header", "sekrit"),
         "expected 'NAME: VALUE'"),
        (("run", "funcbench", "-m", "control/null", "--tool-format", "nativ"),
         "did you mean: native"),
        (("run", "funcbench", "-m", "control/null", "--tasks", "none.jsonl"), "cannot read tasks"),
        (("run", "nowhere_at_all:load", "-m", "control/null"), "cannot import nowhere_at_all"),
        (("score", "nowhere"), "not a run folder"),
        (("compare", "nowhere", "there"), "not a run folder"),
        (("run", "funcbench", "-m", "control/faulty?class=bogus&rate=0.5"), "bogus"),
        (("fetch", "bfc"), "did you mean: bfcl"),
        (("perturb", "speech", "gone.wav"), "gone.wav: no such file"),
        (("perturb", "speech", "gone.txt"), "gone.txt: no such file"),
        (("doctor", "--servers", "gone.json"), "gone.json: no such file"),
        (("replay", "gone", "--servers", "gone.json"), "gone.json: no such file"),
        (("calibrate", "gone.jsonl", "-o", "page.html"), "gone.jsonl: no such file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_nearest_right(
    toolmark: Command, words: tuple[str, ...], said: str
) -> None:
    found = toolmark(*words)
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err
    assert "sekrit" not in found.err
    assert not Path("runs").exists() or list(Path("runs").glob("*/")) == []


@pytest.mark.parametrize("words", [("run",), ("run", "funcbench"), ("run", "funcbench", "-m")])
def test_missing_words_are_usage_errors(toolmark: Command, words: tuple[str, ...]) -> None:
    assert toolmark(*words).code == 2


def test_every_flag_has_an_environment_twin() -> None:
    group: Any = typer.main.get_command(app)
    flags = [
        (name, flag)
        for name, command in group.commands.items()
        for flag in command.params
        if flag.opts[0].startswith("-") and "--help" not in flag.opts
    ]
    assert len(flags) > 40
    for name, flag in flags:
        twin = "TOOLMARK_HEADER" if "TOOLMARK_HEADER" in (flag.help or "") else flag.envvar
        assert str(twin).startswith("TOOLMARK_"), f"{name} {flag.opts}"


def test_a_run_can_be_asked_for_by_the_environment(
    toolmark: Command, mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMARK_MODEL", mind.model)
    monkeypatch.setenv("TOOLMARK_T", "core=4 depth=2 graphs=3")
    monkeypatch.setenv("TOOLMARK_LIMIT", "2")
    monkeypatch.setenv("TOOLMARK_HEADER", "X-One: a b\nX-Two: c")
    monkeypatch.setenv("TOOLMARK_JSON", "1")
    assert json.loads(toolmark("run", "funcbench").out)["n_planned"] == 2
    assert mind.asked[0].headers["x-one"] == "a b"
    assert mind.asked[0].headers["x-two"] == "c"


def test_a_refused_run_still_prints_its_object(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 403, {"error": {"message": "no"}}
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL, "--json")
    assert said.code == 3
    assert json.loads(said.out)["n_run"] == 0


def test_the_help_names_every_suite(toolmark: Command) -> None:
    for command in ("run", "author"):
        said = " ".join(toolmark(command, "--help").out.split())
        assert all(name in said for name in suite_registry.SUITES)


def test_making_tasks_does_not_overwrite_a_run(toolmark: Command) -> None:
    found = json.loads(toolmark("run", "funcbench", "-m", "control/null", *SMALL, "--json").out)
    said = toolmark("make", "funcbench", *SMALL, "-o", found["run_dir"])
    assert said.code == 2
    assert "is a run" in said.err


def test_hostile_errors_do_not_reach_the_terminal(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 403, {"error": {"message": "\x1b]0;pwned\x07\x9b31m\r\u202egnp"}}
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL)
    for sign in ("\x1b", "\x07", "\x9b", "\r", "\u202e"):
        assert sign not in said.out + said.err


def test_make_writes_tasks_that_run_asks(toolmark: Command) -> None:
    said = toolmark("make", "funcbench", *SMALL, "-o", "made")
    assert said.code == 0
    assert "next: toolmark run funcbench --tasks made" in said.out
    assert "## Sensitive words" in Path("made/README.md").read_text()
    lines = Path("made/tasks.jsonl").read_bytes().splitlines()
    assert len(lines) == 6
    graph = msgspec.json.decode(lines[0])["data"]["graph"]
    assert {"target", "nodes", "known_values"} <= graph.keys()
    said = toolmark(
        "run", "funcbench", "-m", "control/oracle", "--tasks", "made/tasks.jsonl", "--json"
    )
    assert json.loads(said.out)["score"]["value"] == 1.0


LACKING = """
from dataclasses import replace
import toolmark as tm
from toolmark.suites.funcbench.funcbench_suite import SCORER
from toolmark.core.errors import ToolEnvironmentError

def load(*, every: bool = False) -> tm.Suite:
    suite = tm.load("funcbench", core=4, depth=2, graphs=2, seed=3)
    first = next(iter(suite)).id
    def failure(task):
        return "no voice" if every or task.id == first else ""

    return replace(suite, maker=replace(suite.maker, failure=failure))
"""


def test_make_says_what_could_not_be_made(toolmark: Command) -> None:
    Path("lacking.py").write_text(LACKING)
    said = toolmark("make", "lacking:load", "-o", "made")
    assert said.code == 3
    assert "not made, 1 task: no voice" in said.out and "1 of 2 tasks could not be made" in said.out
    said = toolmark("make", "lacking:load", "-T", "every=true", "-o", "none")
    assert said.code == 2 and "none of 2 tasks could be made: no voice" in said.err
    assert not Path("none").exists()


def test_reasons_not_printed_are_counted_and_no_seed_is_drawn_for_a_folder(
    toolmark: Command,
) -> None:
    row = {"question": "Who?", "answer": "Ada", "domain": "places", "query_type": "identify"}
    rows = [row | {"id": f"i{n}", "image": f"{n}.png"} for n in range(5)]
    Path("own/pages").mkdir(parents=True)
    Path("own/pages/one.html").write_text("<p>Ada built it</p>")
    Path("own/items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Image.new("RGB", (64, 48)).save("own/0.png")
    words = ("mfcl-vision", "-T", "source=own", "-T", "variations=base,gray")
    made = toolmark("make", *words, "-o", "made")
    assert made.out.count("not made, 2 tasks: ") == 4
    assert "  not made, 2 tasks: 1 other reason\n" in made.out
    run = toolmark("run", *words, "-m", "control/null")
    assert run.out.count("not run, ") == 1 and "not run, 8 episodes: preparation: " in run.out
    assert run.out.count("    also: ") == 3 and "    also: 1 other message\n" in run.out
    assert "was drawn" not in run.out


@pytest.mark.parametrize("tool_format", ["native", "prompt"])
def test_a_dry_run_shows_the_system_prompt_that_is_sent(
    toolmark: Command, mind: Mind, tool_format: str
) -> None:
    words = (
        "run",
        "funcbench",
        "-m",
        mind.model,
        *SMALL,
        "--limit",
        "1",
        "--tool-format",
        tool_format,
        "-T",
        "wording=guided",
    )
    shown = toolmark(*words, "--dry-run")
    assert shown.code == 0 and mind.asked == []
    assert toolmark(*words).code == 0
    sent = [m["content"] for m in mind.asked[0].json["messages"] if m["role"] == "system"]
    assert sent, "nothing to see"
    assert f"The system prompt as sent:\n{sent[0]}" in shown.out


def test_a_dry_run_makes_the_first_task_and_shows_its_question_and_picture(
    toolmark: Command,
) -> None:
    words = ("mfcl-vision", "-T", "items=1", "-T", "variations=base,gray", "--seed", "7")
    said = toolmark("run", *words, "-m", "control/null", "--repeats", "2", "--dry-run")
    assert said.code == 0, said.err
    suite = suite_registry.load_suite("mfcl-vision", items=1, variations="base,gray", seed=7)
    asked = next(iter(suite.maker.make(list(suite))))
    for message in asked.turns[0].messages:
        assert said.out.count(message.text) == 1
        for part in message.parts:
            if isinstance(part, Picture):
                assert Path(said.out.split(f"[{part.mime}, ")[1].split("]")[0]).is_file()
    assert "2 pictures to be made" in said.out
    assert f"at most {2 * 2 * asked.limits.steps} requests" in said.out


def test_a_dry_run_of_an_unknown_tool_format_is_no_run(toolmark: Command) -> None:
    words = ("run", "funcbench", "-m", "control/null", *SMALL, "--tool-format", "promt")
    said = toolmark(*words, "--dry-run")
    assert said.code == 2 and "did you mean: prompt" in said.err


def test_dry_run_asks_nothing(toolmark: Command, mind: Mind) -> None:
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL, "--dry-run")
    assert said.code == 0
    assert "6 tasks of funcbench, seed 5" in said.out
    assert mind.asked == []
    assert not Path("runs").exists()


def test_score_show_report_and_compare_work_on_what_run_left(toolmark: Command) -> None:
    a = json.loads(toolmark("run", "funcbench", "-m", "control/oracle", *SMALL, "--json").out)
    b = json.loads(toolmark("run", "funcbench", "-m", "control/null", *SMALL, "--json").out)
    assert toolmark("score", a["run_dir"], "--json").code == 0
    shown = toolmark("show", b["run_dir"], first(b))
    assert shown.code == 0
    assert "missing_call" in shown.out
    assert toolmark("show", b["run_dir"], "nothing").code == 2
    compared = toolmark("compare", a["run_dir"], b["run_dir"])
    assert "control/oracle is better than control/null" in compared.out
    assert json.loads(toolmark("compare", a["run_dir"], b["run_dir"], "--json").out)["paired"]
    *_, last = a["rules"]
    other = toolmark("compare", a["run_dir"], b["run_dir"], "--rule", last, "--json")
    assert json.loads(other.out)["rule"] == last
    assert toolmark("compare", a["run_dir"], b["run_dir"], "--rule", "nobody's").code == 2
    page = toolmark("report", a["run_dir"], b["run_dir"], "-o", "page.html")
    assert page.code == 0
    assert Path("page.html").stat().st_size > 10_000


def test_fail_under_is_an_exit_code_and_a_line_that_says_why(toolmark: Command) -> None:
    words = ("run", "funcbench", "-m", "control/null", *SMALL)
    failed = toolmark(*words, "--fail-under", "0.5")
    assert failed.code == 1
    assert "--fail-under 50 % failed: the score is 0.0 %" in failed.err
    passed = toolmark(*words, "--fresh", "--fail-under", "0")
    assert passed.code == 0 and "--fail-under" not in passed.err


def test_a_corrupt_folder_is_named_by_line_and_left_alone(toolmark: Command) -> None:
    words = ("run", "funcbench", "-m", "control/null", *SMALL, "--json")
    path = Path(json.loads(toolmark(*words).out)["run_dir"])
    lines = (path / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
    damaged = lines[0][:20] + b"\n" + b"".join(lines[1:])
    (path / "trajectories.jsonl").write_bytes(damaged)
    for again in (words, ("score", str(path))):
        said = toolmark(*again)
        assert said.code == 2
        assert "trajectories.jsonl, line 1" in said.err
    assert (path / "trajectories.jsonl").read_bytes() == damaged


def test_control_characters_of_a_model_do_not_reach_the_terminal(
    toolmark: Command, mind: Mind
) -> None:
    mind.body = {"choices": [{"message": {"role": "assistant", "content": "\x1b[2J\x07gone"}}]}
    words = ("run", "funcbench", "-m", mind.model, *SMALL, "--json")
    found = json.loads(toolmark(*words).out)
    shown = toolmark("show", found["run_dir"], first(found)).out
    assert "\x1b" not in shown
    assert "gone" in shown


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arguments", '{"x": '), ("arguments", "1e400"), ("arguments", '{"x": 1e400}'),
        ("arguments", "9" * 5_000), ("arguments", '{"x": "\\ud800"}'),
        ("arguments", '{"x": "412"}'),
        ("arguments", "[" * 10_000 + "]" * 10_000), ("arguments", "x" * 10_000_000),
        ("name", "no_such_tool"), ("name", "\ud800"), ("content", "\ud83d lone"),
        ("content", "y" * 10_000_000),
    ],
)  # fmt: skip
def test_foreign_replies_are_incorrect_and_stored_as_sent_or_cut_visibly(
    toolmark: Command, mind: Mind, field: str, value: str
) -> None:
    call = {"name": "no_such_tool", "arguments": "{}"}
    message: dict[str, object] = {"role": "assistant", "content": None}
    if field == "content":
        message["content"] = value
    else:
        function = {**call, field: value}
        message["tool_calls"] = [{"id": "a", "type": "function", "function": function},
                                 {"id": "a", "type": "function", "function": function}]  # fmt: skip
    mind.body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    said = toolmark("run", "funcbench", "-m", mind.model, "-T", "core=3", "-T", "depth=1", "-T",
                    "graphs=1", "--json")  # fmt: skip
    found = json.loads(said.out)
    assert (found["n_run"], found["score"]["value"]) == (1, 0.0)
    run = Run(Path(found["run_dir"]))
    (trajectory,) = run.trajectories()
    reply = trajectory.steps[0].reply
    saved = reply.text if field == "content" else getattr(reply.calls[0], field)
    whole = f"{value[: 2**20]} [cut: {len(value)} characters]" if len(value) > 2**20 else value
    assert json_codec.restore_surrogates(saved) == whole
    (score,) = run.scores()
    assert sum(label.primary for label in score.verdicts["official"].labels) == 1


def test_ctrl_c_stops_cleanly_with_a_summary(mind: Mind, tmp_path: Path) -> None:
    mind.body = {"choices": [{"message": {"role": "assistant", "content": "hm"}}]}
    mind.wait_s = 0.1
    words = ["run", "funcbench", "-m", mind.model, "-T", "graphs=500", "--max-connections", "2"]
    environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    with subprocess.Popen(
        [sys.executable, "-m", "toolmark", *words], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment,
    ) as child:  # fmt: skip
        try:
            deadline = time.monotonic() + 100
            while len(mind.asked) < 3 and time.monotonic() < deadline:
                time.sleep(0.02)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=100)
        finally:
            child.kill()
    assert child.returncode == 130
    assert re.search(r"not run [1-9]", out)
    assert "give the same command again" in out


def test_a_model_that_refuses_the_suites_temperature_is_still_run(
    toolmark: Command, mind: Mind
) -> None:
    mind.refuses = "temperature"
    said = toolmark("run", "funcbench", "-m", mind.model, *SMALL)
    assert said.code == 0
    assert "the server refused temperature" in said.out
    (path,) = Path("runs").glob("*/")
    assert Run(path).info.refused_settings == ("temperature",)


def test_a_setting_that_is_never_sent_is_reported_once_stored_and_found_by_the_doctor(
    toolmark: Command, mind: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = endpoint_profile.EndpointProfile(unsent_settings=("temperature",))
    monkeypatch.setattr(provider_table, "profile_for_url", lambda *asked: never)
    words = ("run", "funcbench", "-m", mind.model, *SMALL, "--temperature", "0.7")
    said = toolmark(*words)
    assert said.code == 0 and not any("temperature" in asked.json for asked in mind.asked)
    reported = [line.strip() for line in said.out.splitlines() if "not sent" in line]
    assert reported == [
        "not sent: temperature: this provider's profile leaves it out; its own default was used"
    ]
    (path,) = Path("runs").glob("*/")
    assert (
        Run(path).info.unsent_settings == ("temperature",) and Run(path).info.refused_settings == ()
    )
    assert reported[0] in html.unescape(
        Path(toolmark("report", str(path)).out.strip()).read_text("utf-8")
    )
    mind.body = fake.calls(("get_weather", '{"city": "Paris"}'))
    (check,) = [
        each
        for each in json.loads(toolmark("doctor", "-m", mind.model, "--json").out)
        if each["name"] == "temperature 0"
    ]
    assert check["status"] == "warn" and check["detail"].startswith("not sent: this provider's")


def test_without_an_extra_its_suites_say_so_and_the_others_are_there() -> None:
    start = "import sys; sys.modules['mcp'] = None; sys.argv[0] = 'toolmark'\n"
    start += "from toolmark.cli.app import main; main()"

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", start, *words],
            capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "400"},
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    listed = said("list")
    assert "funcbench" in listed and "bfcl" in listed
    assert listed.count("-m pip install -e '.[m3]'") == 2
    for name in suite_registry.SUITES:  # what it is, is told all the same
        assert suite_registry.suite_summary(name).partition(". ")[0].rstrip(".") in listed
    assert f"next: {user_modules.install_command('m3')}" in said(
        "run", "m3-local", "-m", "control/null"
    )
    for name in ("m3", "m3-local"):  # so are its parameters, and what to install
        shown = said("list", name)
        assert f"needs: {user_modules.install_command('m3')}" in shown
        for parameter in suite_registry.list_parameters(name):
            assert f"-T {parameter.name}=" in shown and parameter.description in " ".join(
                shown.split()
            )


SOUND = ("soundfile", "soxr", "pyroomacoustics", "pystoi", "pocketsphinx", "espeakng_loader")


@pytest.mark.speech
def test_words_are_changed_without_any_library_of_sound(tmp_path: Path) -> None:
    start = f"import sys; sys.modules.update(dict.fromkeys({SOUND})); sys.argv[0] = 'toolmark'\n"
    start += "from toolmark.cli.app import main; main()"

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", start, "perturb", "speech", "A table for 4 at 7:30 pm", *words],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip

    done = said("--stages", "rewrite,disfluency")
    assert done.returncode == 0 and "seven thirty" in done.stdout, done.stderr
    done = said("--stages", "voice", "--engines", "flite")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "soundfile" in done.stderr and "-m pip install -e" in done.stderr
