"""Suites of the user's own on the command line: whose scorer judges what, and its faults."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.reports.page_reader import read_page
from tests.servers.planning_endpoint import Command

ROOT = Path(__file__).parents[2]
OTHER = (
    "from dataclasses import replace\nimport shop\n"
    "SCORER = replace(shop.SCORER, rules=('official',))\n"
    "def load(*, n: int = 3):\n    return replace(shop.load(n=n), name='other', scorer=SCORER)\n"
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the example of the page, in which the commands are given."""
    page = (ROOT / "docs/how-to/suite-from-parts.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "shop.py").write_text(next(each for each in code if "def load" in each))
    (tmp_path / "other.py").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("shop", "other"):
        sys.modules.pop(name, None)  # of another test
    yield tmp_path
    for name in ("shop", "other"):
        sys.modules.pop(name, None)


def folder(runs: Path, stem: str) -> str:
    [found] = [path for path in runs.iterdir() if path.name.startswith(stem)]
    return str(found)


def test_a_scorer_judges_its_own_suite_only(shop: Path, toolmark: Command) -> None:
    parameters = (
        "-T",
        "core=3",
        "-T",
        "depth=2",
        "-T",
        "connected=2",
        "-T",
        "graphs=2",
        "--seed",
        "7",
    )
    assert toolmark("run", "funcbench", "-m", "control/oracle", *parameters).code == 0
    assert toolmark("run", "shop:load", "-m", "control/oracle", "-T", "n=3").code == 0
    built, own = folder(shop / "runs", "funcbench"), folder(shop / "runs", "shop")
    before = (Path(built) / "scores.jsonl").read_bytes()

    for wrong in ("shop:load", "other:load"):  # the second has readings of the same name
        found = toolmark("score", built, "--suite", wrong)
        assert found.code == 2, found.err
        assert (Path(built) / "scores.jsonl").read_bytes() == before
    assert "leave it out" in toolmark("score", built, "--suite", "shop:load").err
    page = shop / "page.html"
    found = toolmark("report", built, own, "-o", str(page))
    assert found.code == 0, found.err
    assert len(read_page(page).section("headline").rows) == 1 + 2


def test_a_scorers_fault_is_reported_with_the_next_step_and_is_on_the_page(
    shop: Path, toolmark: Command
) -> None:
    text = (shop / "shop.py").read_text()
    start = "def score(episode):\n"
    assert start in text
    broken = text.replace(start, f"{start}    if episode.task.id == 'shop-1': 1 / 0\n")
    (shop / "shop.py").write_text(broken)
    found = toolmark("run", "shop:load", "-m", "control/oracle", "-T", "n=3")
    run = folder(shop / "runs", "shop")
    assert found.code == 3
    assert "not scored, 1 episode: scorer: ZeroDivisionError" in found.out
    command = f"toolmark score runs/{Path(run).name} --suite shop:load"
    assert command in found.out
    assert "give the same command again" not in found.out

    for more in ((), ("--json",)):  # as long as it fails, scoring is not done either
        assert toolmark("score", run, *more).code == 3

    page = shop / "page.html"
    found = toolmark("report", run, "-o", str(page))
    assert found.code == 0, found.err
    missing = read_page(page).section("missing").find("table")[0].rows
    assert any("ZeroDivisionError" in cell for cell in missing[1])

    (shop / "shop.py").write_text(text)
    sys.modules.pop("shop", None)
    found = toolmark(*command.split()[1:])
    assert found.code == 0 and "n=3, not run 0" in found.out


# --- opening a folder runs nothing -------------------------------------------------------

PLANTED = """
open("imported", "w").close()
SCORER = None
def load():
    return None
"""


def plant(place: Path) -> None:
    """Put another module in the place of a suite's, which leaves a file where it is imported."""
    place.write_text(PLANTED)
    sys.modules.pop(place.stem, None)


@pytest.fixture(params=["shop:load", "suites/shop.py:load"])
def spec(request: pytest.FixtureRequest, shop: Path) -> str:
    name: str = request.param
    if "/" in name:
        (shop / "suites").mkdir()
        (shop / "shop.py").rename(shop / "suites" / "shop.py")
    return name


def made(shop: Path, spec: str, toolmark: Command) -> list[str]:
    for model in ("control/oracle", "control/null"):
        assert toolmark("run", spec, "-m", model, "-T", "n=3").code == 0
    return [folder(shop / "runs", f"shop-control-{name}") for name in ("oracle", "null")]


def source(shop: Path, spec: str) -> Path:
    place = spec.partition(":")[0]
    return shop / (place if place.endswith(".py") else f"{place}.py")


def test_stored_runs_are_read_without_the_module_that_made_them(
    shop: Path, spec: str, toolmark: Command
) -> None:
    one, other = made(shop, spec, toolmark)
    before = [toolmark("compare", one, other, "--json").out, toolmark("show", one, "shop-1").out]
    plant(source(shop, spec))
    after = [toolmark("compare", one, other, "--json").out, toolmark("show", one, "shop-1").out]
    assert after == before
    page = shop / "page.html"
    assert toolmark("report", one, other, "-o", str(page)).code == 0
    rows = [row for table in read_page(page).section("result").find("table") for row in table.rows]
    assert any(row[0] == "accuracy" for row in rows)
    source(shop, spec).unlink()
    commands = (("report", one), ("compare", one, other), ("show", one), ("show", one, "shop-0"))
    for command in commands:
        found = toolmark(*command)
        assert found.code == 0, found.err
    assert not (shop / "imported").exists()


def test_a_process_of_its_own_imports_nothing_either(
    shop: Path, spec: str, toolmark: Command
) -> None:
    one, other = made(shop, spec, toolmark)
    plant(source(shop, spec))
    for name in ("numba", "sitecustomize_toolmark"):  # nor what stands where the user is
        (shop / f"{name}.py").write_text(PLANTED)
    for command in (["report", one, other], ["compare", one, other], ["show", one, "shop-0"]):
        words = [sys.executable, "-P", "-m", "toolmark", *command]
        done = subprocess.run(words, cwd=shop, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert not (shop / "imported").exists()


def test_score_imports_the_recorded_module_only_where_it_is_as_recorded(
    shop: Path, spec: str, toolmark: Command
) -> None:
    run, _ = made(shop, spec, toolmark)
    scores = Path(run) / "scores.jsonl"
    before = scores.read_bytes()
    text = source(shop, spec).read_text()
    found = toolmark("score", run)
    assert found.code == 0, found.err
    assert scores.read_bytes() == before

    plant(source(shop, spec))
    found = toolmark("score", run)
    assert found.code == 2
    assert found.err.count("\n") == 1 and "nothing was imported" in found.err
    assert not (shop / "imported").exists()
    assert scores.read_bytes() == before

    source(shop, spec).write_text(text + "\n# another line\n")
    sys.modules.pop("shop", None)
    reported = toolmark("score", run).err
    command = shlex.split(reported.partition("next: ")[2])
    assert command == ["toolmark", "score", run, "--suite", spec]
    found = toolmark(*command[1:])
    assert found.code == 0, found.err

    source(shop, spec).unlink()
    sys.modules.pop("shop", None)
    found = toolmark("score", run)
    assert found.code == 2 and "nothing was imported" in found.err


@pytest.mark.parametrize("named", ["antigravity:load", "typer:run", "toolmark.cli.app:app"])
def test_a_folder_names_no_library_to_be_imported(
    shop: Path, named: str, toolmark: Command
) -> None:
    run, _ = made(shop, "shop:load", toolmark)
    record = Path(run) / "run.json"
    info = json.loads(record.read_text())
    info["plan"] |= {"spec": named, "modules": {}}
    record.write_text(json.dumps(info))
    found = toolmark("score", run)
    assert found.code == 2 and "nothing was imported" in found.err
    assert "antigravity" not in sys.modules


def test_a_module_in_the_run_folder_is_not_imported_though_its_hash_is_recorded(
    shop: Path, toolmark: Command
) -> None:
    run, _ = made(shop, "shop:load", toolmark)
    planted = Path(run) / "shop.py"
    plant(planted)
    record = Path(run) / "run.json"
    info = json.loads(record.read_text())
    digest = hashlib.sha256(planted.read_bytes()).hexdigest()
    info["plan"] |= {"spec": f"{planted}:load", "modules": {"shop": digest}}
    record.write_text(json.dumps(info))
    found = toolmark("score", run)
    assert found.code == 2 and "lies in the run folder" in found.err
    assert not (shop / "imported").exists()
