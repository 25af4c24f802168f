"""What begins a new run, what goes on, what is only scored again; and what no page executes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core import user_modules
from toolmark.core.records import Verdict
from toolmark.runs import code_hashes

SUITE = '''
"""A suite in a file; its scorer, and what its environment needs, are in files of their own."""

import toolmark as tm
from names import GREETING
from judging import judge

open("imported", "a").close()


class Shop(tm.Environment):
    """A shop."""

    def __init__(self, task: tm.Task) -> None:
        with open("episodes", "a") as file:
            file.write(task.id + "\\n")

    @tm.tool
    def greet(self) -> str:
        """Greet."""
        return GREETING

    def final_state(self) -> object:
        return {"greeting": GREETING}


@tm.suite
def shop() -> tm.Suite:
    """Greetings in a shop."""
    return tm.Suite(tasks=tm.read_tasks("rows.jsonl"), environment=Shop, scorer=judge)
'''
JUDGING = (
    "from limits import LEAST\n\n\ndef judge(episode):\n    return len(episode.calls) >= LEAST\n"
)
ROWS = '{"question": "Hello?", "solution": [{"name": "greet"}, "Done."]}\n' * 2
FILES = {
    "shop.py": SUITE,
    "names.py": "GREETING = 'Good day'\n",
    "judging.py": JUDGING,
    "limits.py": "LEAST = 1\n",
    "rows.jsonl": ROWS,
}


class Shop:
    """A folder with the suite, and the command that runs it."""

    def __init__(self, folder: Path, toolmark: Command) -> None:
        self._folder = folder
        self._toolmark = toolmark
        for name, text in FILES.items():
            (folder / name).write_text(text)

    def run(self, *words: str, suite: str = "shop.py:shop") -> str:
        """Give the command as a new process would, with nothing imported; return what it says."""
        forget_modules()
        said = self._toolmark("run", suite, "-m", "control/oracle", *words)
        assert said.code == 0, said.err
        return said.out + said.err

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text in a file."""
        text = (self._folder / name).read_text()
        assert old in text
        (self._folder / name).write_text(text.replace(old, new))

    @property
    def n_episodes(self) -> int:
        """How many episodes were played so far."""
        path = self._folder / "episodes"
        return len(path.read_text().split()) if path.exists() else 0

    @property
    def runs(self) -> list[Path]:
        """The run folders, the oldest first."""
        return sorted(self._folder.glob("runs/*/"), key=lambda path: path.stat().st_mtime_ns)

    def value(self) -> float:
        """The score of the only run."""
        [run] = self.runs
        found: float = tm.open_run(run).summary()["score"]["value"]
        return found


def forget_modules() -> None:
    for name in [*sys.modules]:
        if name.startswith(user_modules.FILE_MODULE_PREFIX) or name in (
            "names", "judging", "limits",
        ):  # fmt: skip
            del sys.modules[name]


@pytest.fixture
def shop(tmp_path: Path, toolmark: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits within a second are seen
    yield Shop(tmp_path, toolmark)
    forget_modules()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("shop.py", "A shop.", "A small shop."),
        ("shop.py", "return GREETING", "return GREETING * 2"),
        ("names.py", "Good day", "Hello"),
        ("rows.jsonl", "Hello?", "Is anybody there?"),
        ("shop.py", "scorer=judge", "scorer=lambda episode: True"),
    ],
    ids=["docstring", "environment", "import", "data", "scorer-in-the-same-file"],
)
def test_an_edit_of_what_asks_begins_a_new_run(name: str, old: str, new: str, shop: Shop) -> None:
    shop.run()
    assert (shop.n_episodes, len(shop.runs)) == (2, 1)
    shop.edit(name, old, new)
    said = shop.run()
    assert (shop.n_episodes, len(shop.runs)) == (4, 2)
    assert "new run: " in said


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("judging.py", ">= LEAST", "> LEAST"), ("limits.py", "1", "2")],
    ids=["scorer", "import-of-the-scorer"],
)
def test_an_edit_of_a_scorer_in_its_own_file_asks_nothing(
    name: str, old: str, new: str, shop: Shop
) -> None:
    shop.run()
    assert shop.value() == 1
    shop.edit(name, old, new)
    said = shop.run()
    assert (shop.n_episodes, len(shop.runs)) == (2, 1)
    assert "continuing " in said
    assert shop.value() == 0


def test_an_edit_that_is_taken_back_is_no_edit(shop: Shop) -> None:
    shop.run()
    shop.edit("limits.py", "1", "2")
    shop.edit("limits.py", "2", "1")
    shop.edit("names.py", "Good day", "Hello")
    shop.edit("names.py", "Hello", "Good day")
    assert "has all of its episodes" in shop.run()


def test_an_edit_of_the_scorer_in_the_file_of_the_suite_says_where_it_belongs(shop: Shop) -> None:
    shop.edit("shop.py", "from judging import judge", "")
    shop.edit("shop.py", "class Shop", "def judge(episode):\n    return True\n\n\nclass Shop")
    shop.run()
    shop.edit("shop.py", "return True", "return 1.0")
    assert "holds the scorer too" in shop.run()
    assert (shop.n_episodes, len(shop.runs)) == (4, 2)


def test_another_file_with_the_same_content_is_another_suite(shop: Shop) -> None:
    shop.run()
    shutil.copy("shop.py", "store.py")
    shop.run(suite="store.py:shop")
    assert (shop.n_episodes, len(shop.runs)) == (4, 2)


def test_another_name_of_the_same_file_is_the_same_suite(shop: Shop) -> None:
    shop.run()
    shop.edit("limits.py", "1", "2")
    said = shop.run(suite=str(Path("shop.py").resolve()) + ":shop")
    assert "continuing " in said and shop.n_episodes == 2


def test_continue_accepts_an_edit_of_the_environment_and_not_of_the_data(
    shop: Shop, toolmark: Command
) -> None:
    shop.edit(
        "shop.py", "        with open", "        assert task.id != 'row-2'\n        with open"
    )
    forget_modules()
    assert toolmark("run", "shop.py:shop", "-m", "control/oracle").code == 3
    assert shop.n_episodes == 1
    shop.edit("shop.py", "        assert task.id != 'row-2'\n", "")
    said = shop.run("--continue")
    assert "accepted: " in said and (shop.n_episodes, len(shop.runs)) == (2, 1)
    shop.edit("rows.jsonl", "Hello?", "Hello!")
    shop.run("--continue")
    assert (shop.n_episodes, len(shop.runs)) == (4, 2)


def test_rows_without_code_go_by_their_content_and_their_name(
    shop: Shop, toolmark: Command
) -> None:
    Path("calls.jsonl").write_text('{"question": "Hello?", "expected": []}\n')
    shop.run(suite="calls.jsonl")
    assert "has all of its episodes" in shop.run(suite="calls.jsonl")
    n_runs = len(shop.runs)
    Path("calls.jsonl").write_text('{"question": "Hello!", "expected": []}\n')
    assert "new run: " in shop.run(suite="calls.jsonl")
    assert len(shop.runs) == n_runs + 1
    Path("others.jsonl").write_bytes(Path("calls.jsonl").read_bytes())
    shop.run(suite="others.jsonl")
    assert len(shop.runs) == n_runs + 2
    shop.run("-T", "order=strict", suite="calls.jsonl")
    assert len(shop.runs) == n_runs + 3


# --- settings of scorers ----------------------------------------------------------------


def _scorer_hash(scorer: Any, **further: Any) -> str:
    return code_hashes.scorer_id(tm.Suite(tasks=[], scorer=scorer, **further).scorer).sha256


def right(episode: tm.Episode) -> Verdict:
    return Verdict(outcome="correct", value=1)


def test_the_settings_of_scorers_and_metrics_count() -> None:
    variants = {
        "calls": tm.match_calls(),
        "strict": tm.match_calls(order="strict"),
        "ignore": tm.match_calls(ignore=["note"]),
        "reads": tm.match_calls(extra_reads=True),
        "state": tm.state_equals(),
        "field": tm.state_equals("other"),
        "any": tm.state_equals(any_of=True),
    }
    hashes = {name: _scorer_hash(scorer) for name, scorer in variants.items()}
    assert len({*hashes.values()}) == len(variants)
    assert hashes["strict"] == _scorer_hash(tm.match_calls(order="strict"))
    one, other = tm.mean("a", len), tm.mean("b", len)  # type: ignore[arg-type]
    plain = _scorer_hash(right)
    named = [_scorer_hash(right, metrics=[each]) for each in (one, other)]
    assert len({plain, *named}) == 3


def test_another_order_of_calls_scores_again_and_asks_nothing(tmp_path: Path) -> None:
    tools: list[Any] = [{"name": name, "parameters": {"properties": {}}} for name in ("one", "two")]
    expected = [{"name": "one"}, {"name": "two"}]
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"question": "Both?", "tools": tools, "expected": expected}))
    asked = []

    class Backwards:
        name = "backwards"

        async def __call__(self, request: tm.Request) -> tm.Reply:
            asked.append(request)
            calls = tuple(tm.Call(name=each, arguments="{}", id=each) for each in ("two", "one"))
            return tm.Reply(calls=calls)

    def value(**settings: Any) -> float:
        suite = tm.expected_calls(tm.read_jsonl(str(rows)), **settings)
        suite = tm.Suite(name="both", tasks=suite.tasks, scorer=tm.match_calls(**settings))
        done = tm.run(suite, Backwards(), log_dir=tmp_path / "runs")
        found: float = done.summary()["score"]["value"]
        return found

    assert value() == 1
    assert value(order="strict") == 0
    assert len(asked) == 1


# --- what pages and comparisons execute -------------------------------------------------


@pytest.mark.parametrize("damage", ["none", "syntax", "exit", "gone"])
def test_pages_and_comparisons_execute_nothing_of_the_users_files(
    damage: str, shop: Shop, toolmark: Command
) -> None:
    shop.run()
    shop.edit("names.py", "Good day", "Hello")
    shop.run()
    first, second = map(str, shop.runs)
    Path("imported").unlink()
    for name in ("shop.py", "names.py", "judging.py", "limits.py"):
        if damage == "gone":
            Path(name).unlink()
        elif damage != "none":
            text = "def (" if damage == "syntax" else "open('imported', 'w')\nraise SystemExit(7)\n"
            Path(name).write_text(text)
    if damage == "gone":
        Path("rows.jsonl").unlink()
    forget_modules()
    n_episodes = shop.n_episodes
    for words in (
        ("report", first, second, "-o", "page.html"),
        ("report", first, "-o", "one.html"),
        ("show", first),
        ("show", first, "row-1"),
        ("compare", first, second),
    ):
        said = toolmark(*words)
        assert said.code == 0, (words, said.err)
    assert not Path("imported").exists()
    assert shop.n_episodes == n_episodes
    assert Path("page.html").stat().st_size > 10_000
    modules = {name for name in sys.modules if name.startswith(user_modules.FILE_MODULE_PREFIX)}
    assert modules == set() and "judging" not in sys.modules
