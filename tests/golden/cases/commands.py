"""The command line over small runs: what is printed, stored, and said to do next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from tests.golden.plain import plain
from tests.golden.screens import Screen

from toolmark.cli.app import app
from toolmark.runs.run_logbook import read_logbook
from toolmark.suites.suite_registry import SUITES

MARKERS = ("slow",)

SMALL = ("-T", "core=3", "-T", "depth=2", "-T", "connected=2", "-T", "graphs=4", "--seed", "5")
SPOILT = "control/faulty?class=incorrect&rate=0.6"
PIQA = ("multinet-piqa", "-T", "items=12", "-T", "seed=3")
BFCL = ("bfcl", "-T", "category=simple_python,parallel,irrelevance,live_multiple", "--sample", "16")
HEARD = ("mfcl-transcripts", "-T", "items=1", "-T", "category=expert", "-T",
         "conditions=text,clean", "-T", "recognisers=simulated:a", "--seed", "5")  # fmt: skip


def record(folder: Path) -> dict[str, Any]:
    """Return every command with its words, exit code and both streams."""
    return {
        "flags": _flags(),
        "lists": _lists(folder),
        "run": _run(folder),
        "other-suites": _other_suites(folder),
        "stored": _stored(folder),
        "made": _made(folder),
        "tasks": _tasks(folder),
        "usage": _usage(folder),
        "endpoint": _endpoint(folder),
        "process": _process(folder),
        "demo": _demo(folder),
    }


def _flags() -> dict[str, Any]:
    """Return the commands and their flags as data: help screens are another library's layout."""
    found: dict[str, Any] = {}

    def gather(name: str, command: Any) -> None:
        for inner, each in getattr(command, "commands", {}).items():
            gather(f"{name} {inner}", each)
        found[name] = {
            "help": command.help,
            "epilog": command.epilog,
            "parameters": {each.name: _flag(each) for each in command.params},
        }

    gather("toolmark", typer.main.get_command(app))
    return found


def _flag(each: Any) -> dict[str, Any]:
    default = each.default
    return {
        "names": [*each.opts, *each.secondary_opts],
        "metavar": each.metavar,
        "from, to": [getattr(each, "min", None), getattr(each, "max", None)],
        "default": None if callable(default) else plain(str(default)),
        "required": each.required,
        "many": each.multiple or each.nargs != 1,
        "environment": each.envvar,
        "help": getattr(each, "help", None),
    }


def _lists(folder: Path) -> dict[str, Any]:
    screen = Screen(folder)
    screen("suites", "list")
    for name in SUITES:
        screen(name, "list", name)
    screen("wrong", "list", "bfl")
    screen("version", "--version")
    return screen.said


def _run(folder: Path) -> dict[str, Any]:
    screen = Screen(folder)
    funcbench = ("run", "funcbench", *SMALL, "--log-dir", str(folder / "runs"))
    screen("planner", *funcbench, "-m", "baseline/planner")
    screen("again: nothing is left to ask", *funcbench, "-m", "baseline/planner")
    screen("fresh", *funcbench, "-m", "baseline/planner", "--fresh")
    screen("spoilt", *funcbench, "-m", SPOILT)
    screen("spoilt, JSON", *funcbench, "-m", SPOILT, "--json")
    screen("repeats", *funcbench, "-m", SPOILT, "--repeats", "3")
    screen("silent", *funcbench, "-m", "control/null")
    screen("always calls", *funcbench, "-m", "control/always-call", "--json")
    screen("dead", *funcbench, "-m", "control/dead", "--max-retries", "0")
    screen("dead, JSON", *funcbench, "-m", "control/dead", "--max-retries", "0", "--json")
    screen("limit", *funcbench, "-m", SPOILT, "--limit", "2")
    screen("sample", *funcbench, "-m", SPOILT, "--sample", "3", "--json")
    screen("ids", *funcbench, "-m", SPOILT, "--ids", "funcbench-c3-d2-k2-m0-g1")
    screen("prompt", *funcbench, "-m", "baseline/planner", "--tool-format", "prompt")
    screen("gate passed", *funcbench, "-m", "baseline/planner", "--fail-under", "1.0")
    screen("gate failed", *funcbench, "-m", SPOILT, "--fail-under", "0.99")
    screen("gate of zero", *funcbench, "-m", "control/null", "--fail-under", "0.0")
    screen("looked at", *funcbench, "-m", SPOILT, "--dry-run")
    screen(
        "looked at in a prompt",
        *funcbench,
        "-m",
        SPOILT,
        "--dry-run",
        "--tool-format",
        "prompt",
        "--limit",
        "1",
    )
    screen("settings", *funcbench, "-m", "baseline/eager", "--temperature", "0.5", "--top-p",
           "0.9", "--max-tokens", "50", "--reasoning-effort", "low", "--extra-body", '{"a": 1}',
           "--json")  # fmt: skip
    screen("short of time", *funcbench, "-m", "baseline/eager", "--time-limit", "100")
    screen("preset", "run", "funcbench", "-T", "preset=by-kind", "-T", "graphs=1", "--seed", "2",
           "--limit", "9", "-m", "baseline/planner", "--log-dir",
           str(folder / "presets"))  # fmt: skip
    return screen.said


def _other_suites(folder: Path) -> dict[str, Any]:
    screen = Screen(folder)
    logs = ("--log-dir", str(folder / "others"))
    for name, suite, models in (
        ("bfcl", BFCL,
        ("control/oracle", "baseline/lexical", "control/faulty?class=wrong_value&rate=0.5")),
        ("piqa", PIQA,
        ("baseline/majority", "baseline/uniform", "control/faulty?class=invalid&rate=0.5")),
        ("heard", HEARD, ("baseline/lexical",)),
        ("overcooked", ("multinet-overcooked", "-T", "items=8", "-T", "seed=3", "-T",
                        "data=synthetic"), ("baseline/stay", "baseline/previous")),
        ("openx", ("multinet-openx", "-T", "items=10", "-T", "seed=3"), ("baseline/mean",)),
        ("sqa3d", ("multinet-sqa3d", "-T", "items=6", "-T", "seed=3", "-T", "similarity=none"),
         ("baseline/majority-by-type",)),
    ):  # fmt: skip
        for model in models:
            screen(f"{name} {model}", "run", *suite, "-m", model, *logs)
        if name in ("heard", "overcooked", "openx"):  # dear: every command makes its tasks anew
            continue
        screen(f"{name} JSON", "run", *suite, "-m", models[-1], *logs, "--json")
        screen(f"{name} looked at", "run", *suite, "-m", models[-1], "--dry-run", "--limit", "1")
    return screen.said


def _run_of(folder: Path, logs: str, part: str) -> Path:
    """Return the folder of the first run that was begun there and whose name has a part.

    The names end in a hash of the settings, so that their order changes with any setting.
    """
    begun = read_logbook(folder / logs).runs
    return folder / logs / next(each.first.run for each in begun if part in each.first.run)


def _stored(folder: Path) -> dict[str, Any]:
    screen = Screen(folder)
    spoilt = str(_run_of(folder, "runs", "control-faulty"))
    dead = str(_run_of(folder, "runs", "control-dead"))
    heard = str(_run_of(folder, "others", "mfcl-transcripts"))
    bfcl = str(_run_of(folder, "others", "bfcl-control-faulty"))
    screen("score", "score", spoilt)
    screen("score, JSON", "score", spoilt, "--json")
    screen("score of what was not run", "score", dead)
    for name, run in (("spoilt", spoilt), ("dead", dead), ("heard", heard), ("bfcl", bfcl)):
        screen(f"episodes of {name}", "show", run)
        screen(f"wrong ones of {name}", "show", run, "--outcome", "incorrect")
        screen(f"not run ones of {name}", "show", run, "--outcome", "not run", "--json")
        listed = screen(f"all of {name}, JSON", "show", run, "--all", "--json")
        first = listed["episodes"][0]["task"]
        screen(f"one of {name}", "show", run, first)
        screen(f"one of {name}, whole", "show", run, first, "--all")
        screen(f"one of {name}, JSON", "show", run, first, "--json")
    screen("by axis", "show", heard, "--axis", "condition=clean")
    screen("by axis and outcome", "show", heard, "--axis", "condition=text", "--outcome", "correct")
    screen("no such axis", "show", heard, "--axis", "conditions=clean")
    screen("no such level", "show", heard, "--axis", "condition=cleen")
    screen("no such outcome", "show", heard, "--outcome", "wrong")
    screen("no such episode", "show", heard, "nobody")
    screen("report", "report", spoilt)
    screen("report elsewhere", "report", spoilt, dead, "-o", str(folder / "page.html"))
    screen("score after a report", "score", spoilt)
    screen("export", "export", "bfcl", bfcl, "-o", str(folder / "exported"))
    screen.said["exported files"] = sorted(
        str(path.relative_to(folder)) for path in (folder / "exported").rglob("*.*")
    )
    back = ("--log-dir", str(folder / "back"))
    screen("import of a part", "import", "bfcl", str(folder / "exported"), *back)
    screen("whole", "run", "bfcl", "-T", "category=live_parallel", "-m",
           "control/faulty?class=missing_argument&rate=0.5", "--log-dir",
           str(folder / "whole"))  # fmt: skip
    whole = str(_run_of(folder, "whole", "bfcl"))
    screen("export of a whole", "export", "bfcl", whole, "-o", str(folder / "whole-exported"))
    screen("import of a whole", "import", "bfcl", str(folder / "whole-exported"), *back)
    return screen.said


def _made(folder: Path) -> dict[str, Any]:
    screen = Screen(folder)
    made = str(folder / "set")
    screen("make", "make", "funcbench", *SMALL, "-o", made)
    screen("make again", "make", "funcbench", *SMALL, "-o", made)
    screen("make piqa", "make", *PIQA, "-o", str(folder / "piqa"))
    screen("make bfcl", "make", "bfcl", "-T", "category=live_parallel", "-o", str(folder / "bfcl"))
    logs = ("--log-dir", str(folder / "of-sets"))
    screen("run a set", "run", "funcbench", "--tasks", made, "-m", "baseline/planner", *logs)
    screen("run a set again", "run", "funcbench", "--tasks", made, "-m", "baseline/planner", *logs,
           "--json")  # fmt: skip
    screen("a set of another suite", "run", "bfcl", "--tasks", made, "-m", "control/null", *logs)
    screen("part of a set", "run", "multinet-piqa", "--tasks", str(folder / "piqa"), "-m",
           "baseline/majority", "--limit", "5", *logs)  # fmt: skip
    for name in ("set", "piqa"):
        files = sorted(path for path in (folder / name).rglob("*") if path.is_file())
        screen.said[f"files of {name}"] = [str(path.relative_to(folder)) for path in files]
        card = next(path for path in files if path.suffix == ".md")
        screen.said[f"card of {name}"] = [
            screen.tidy.text(line) for line in card.read_text(encoding="utf-8").splitlines()
        ]
    return screen.said


def _tasks(folder: Path) -> dict[str, Any]:
    """Return what becomes of files of tasks, good and bad."""
    screen = Screen(folder)
    tasks = (folder / "set" / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    files = {
        "good": "\n".join(tasks[:2]) + "\n", "empty": "", "cut": tasks[0][:50], "no JSON": "{]\n",
        "twice": "\n".join(tasks[:1] * 2) + "\n", "no task": '{"id": 5}\n', "blank": "\n\n",
        "other suite": tasks[0].replace('"suite":"funcbench"', '"suite":"else"') + "\n",
    }  # fmt: skip
    for name, text in files.items():
        path = folder / f"{name}.jsonl"
        path.write_text(text, encoding="utf-8")
        screen(name, "run", "funcbench", "--tasks", str(path), "-m", "baseline/planner",
               "--log-dir", str(folder / "of-files"))  # fmt: skip
    screen(
        "missing",
        "run",
        "funcbench",
        "--tasks",
        str(folder / "nowhere.jsonl"),
        "-m",
        "control/null",
    )
    return screen.said


def _usage(folder: Path) -> dict[str, Any]:
    screen = Screen(folder)
    run = str(_run_of(folder, "runs", "baseline-planner"))
    (folder / "nothing").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{", encoding="utf-8")
    wrong: dict[str, tuple[str, ...]] = {
        "suite": ("run", "funcbanch", "-m", "control/null"),
        "no model": ("run", "funcbench"),
        "no suite": ("run",),
        "command": ("rum",),
        "flag": ("run", "funcbench", "--modl", "x"),
        "module": ("run", "no.such:load", "-m", "control/null"),
        "model": ("run", "funcbench", "-m", "gpt"),
        "baseline": ("run", "funcbench", "-m", "baseline/plan"),
        "test": ("run", "funcbench", "-m", "control/orcl"),
        "fault": ("run", "funcbench", "-m", "control/faulty?class=incorect"),
        "rate": ("run", "funcbench", "-m", "control/faulty?class=incorrect&rate=2"),
        "no class": ("run", "funcbench", "-m", "control/faulty", "--seed", "5"),
        "parameter": ("run", "funcbench", "-m", "control/null", "-T", "cor=3"),
        "parameter without value": ("run", "funcbench", "-m", "control/null", "-T", "core"),
        "parameter twice": (
            "run",
            "funcbench",
            "-m",
            "control/null",
            "-T",
            "core=3",
            "-T",
            "core=4",
        ),
        "value": ("run", "funcbench", "-m", "control/null", "-T", "core=three"),
        "value of words": ("run", "bfcl", "-m", "control/null", "-T", "category=lve"),
        "bounds": ("run", "funcbench", "-m", "control/null", "-T", "core=1"),
        "depth": ("run", "funcbench", "-m", "control/null", "-T", "core=3", "-T", "depth=9"),
        "two seeds": ("run", "funcbench", "-m", "control/null", "--seed", "1", "-T", "seed=2"),
        "negative seed": ("run", "funcbench", "-m", "control/null", "--seed", "-1"),
        "tool_format": ("run", "funcbench", "-m", "control/null", *SMALL, "--tool-format", "promt"),
        "ids": (
            "run",
            "funcbench",
            "-m",
            "control/null",
            *SMALL,
            "--ids",
            "funcbench-c3-d2-k2-m0-g9",
        ),
        "limit": ("run", "funcbench", "-m", "control/null", *SMALL, "--limit", "0"),
        "sample": ("run", "funcbench", "-m", "control/null", *SMALL, "--sample", "99"),
        "sample and limit": (
            "run",
            "funcbench",
            "-m",
            "control/null",
            *SMALL,
            "--sample",
            "2",
            "--limit",
            "1",
        ),
        "repeats": ("run", "funcbench", "-m", "control/null", *SMALL, "--repeats", "0"),
        "gate": ("run", "funcbench", "-m", "control/null", *SMALL, "--fail-under", "1.5"),
        "body": ("run", "funcbench", "-m", "control/null", *SMALL, "--extra-body", "{"),
        "body of list": ("run", "funcbench", "-m", "control/null", *SMALL, "--extra-body", "[]"),
        "header": ("run", "funcbench", "-m", "control/null", *SMALL, "--header", "secret"),
        "effort": ("run", "funcbench", "-m", "control/null", *SMALL, "--reasoning-effort", "max"),
        "preset": ("run", "funcbench", "-m", "control/null", "-T", "preset=mian"),
        "preset and core": (
            "run",
            "funcbench",
            "-m",
            "control/null",
            "-T",
            "preset=main",
            "-T",
            "core=3",
        ),
        "score nowhere": ("score", str(folder / "nowhere")),
        "score nothing": ("score", str(folder / "nothing")),
        "score broken": ("score", str(folder / "broken")),
        "show nothing": ("show", str(folder / "nothing")),
        "report nothing": ("report",),
        "report nowhere": ("report", str(folder / "nowhere")),
        "compare one": ("compare", run),
        "compare nowhere": ("compare", run, str(folder / "nowhere")),
        "compare reading": ("compare", run, run, "--rule", "fiar"),
        "make nowhere": ("make", "funcbench", *SMALL),
        "fetch": ("fetch", "bfc"),
        "judge": ("judge", run),
        "export": ("export", "bfl", run),
        "export another": ("export", "bfcl", run, "-o", str(folder / "x")),
        "import": ("import", "bfcl", str(folder / "nothing")),
        "replay": ("replay", run),
        "review": ("review", str(folder / "nothing")),
        "serve": ("serve", "bfcl"),
        "calibrate": ("calibrate", str(folder / "nowhere.jsonl")),
        "tune": ("tune", "funcbench"),
        "author": ("author", "funcbench", "-m", "control/null"),
        "doctor": ("doctor",),
        "needs": ("run", "m3", "-m", "control/null"),
        "odinw form": ("run", "multinet-odinw", "-m", "control/null", "-T", "form=txt"),
    }
    for name, words in wrong.items():
        screen(name, *words)
    return screen.said


def _endpoint(folder: Path) -> dict[str, Any]:
    """Return what is said where nobody answers: a port of this machine that is closed."""
    screen = Screen(folder)
    closed = "http://127.0.0.1:9/v1#nobody"
    logs = ("--log-dir", str(folder / "dead"), "--max-retries", "0")
    screen("doctor", "doctor", "-m", closed, "--timeout", "5")
    screen("run", "run", "funcbench", *SMALL, "-m", closed, *logs)
    screen("run, JSON", "run", "funcbench", *SMALL, "-m", closed, *logs, "--json")
    screen("no key", "run", "funcbench", *SMALL, "-m", "openai/gpt-5", *logs)
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"gone": {"command": "no-such-program"}}}))
    screen("doctor of servers", "doctor", "--servers", str(config))
    config.write_text("{")
    screen("doctor of no JSON", "doctor", "--servers", str(config))
    return screen.said


def _process(folder: Path) -> dict[str, Any]:
    """Return what a stranger meets: a process of its own, a home that is empty."""
    screen = Screen(folder)
    screen.process(
        "nothing said",
    )
    screen.process("wrong suite", "run", "funcbanch", "-m", "control/null")
    screen.process("run", "run", "funcbench", *SMALL, "-m", SPOILT, "--log-dir", "own")
    made = _run_of(folder, "own", "funcbench").relative_to(folder)
    screen.process("show", "show", str(made))
    screen.process("compare", "compare", str(made), str(made))
    screen.process("report", "report", str(made), "-o", "own.html")
    return screen.said


def _demo(folder: Path) -> dict[str, Any]:
    """Return the lines of the demo; its generated tasks are new each time, so their part is cut."""
    screen = Screen(folder)
    screen("demo", "demo", "--log-dir", str(folder / "demo"))
    said: Any = screen.said["demo"]
    lines = said["out"]
    starts = [at for at, line in enumerate(lines) if line[:2] in ("1.", "2.", "3.", "4.", "5.")]
    parts = [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    said["out"] = [
        [line.split("%")[0].rstrip("0123456789. ") for line in part if "funcbench" in line]
        if part[0].startswith("2.")
        else part
        for part in parts
    ]
    said["runs"] = sorted(screen.tidy.text(path.name) for path in (folder / "demo").iterdir())
    return screen.said
