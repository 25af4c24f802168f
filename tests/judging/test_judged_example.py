"""The example of docs/how-to/judges.md runs from the command line, without a key."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import toolmark as tm
from toolmark.cli import app
from toolmark.judging.episode_labels import LABELS_FILE
from toolmark.runs.run_store import Run
from toolmark.studio.label_review import LabelReview
from toolmark.studio.review_server import ReviewAnswer

ROOT = Path(__file__).parents[2]
SUITE = "judged_answers.py:replies"
JUDGE = "judged_answers:fixed_judge"
CLERKS = """
from toolmark import Reply

FACTS = {"ten days": "Within 14 days, in its box.", "Norway": "We do not deliver to Norway."}

async def clerk(request):
    question = request.messages[-1].text
    return Reply(text=next((FACTS[word] for word in FACTS if word in question), "I will ask."))
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def toolmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a command line in a folder with the examples; return its code, stdout and stderr."""
    for name in ("judged_answers.py", "judged_answers.jsonl"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    (tmp_path / "clerks.py").write_text(CLERKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("judged_answers", "clerks", "strict"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["toolmark", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), said.out, said.err

    return run


def _run_of(folder: Path) -> Run:
    [path] = [path for path in (folder / "runs").iterdir() if path.is_dir()]
    return tm.open_run(path)


def test_the_example_runs_and_says_what_is_uncertain(toolmark: Command, tmp_path: Path) -> None:
    code, out, err = toolmark("run", SUITE, "-m", "clerks:clerk", "-j", JUDGE)
    assert (code, err) == (0, "")
    assert "pass rate by judge, uncalibrated" in out
    assert "0 of the 100 labels" in out
    assert _run_of(tmp_path).summary()["score"]["value"] == pytest.approx(2 / 6)
    page = tm.write_report(_run_of(tmp_path)).read_text()
    assert "The reply states every fact" in page


def test_without_a_judge_it_is_refused_in_one_line(toolmark: Command, tmp_path: Path) -> None:
    code, out, err = toolmark("run", SUITE, "-m", "clerks:clerk")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and "--judge-model" in err
    assert not (tmp_path / "runs").exists()


def test_a_stored_run_is_judged_again_from_the_command_line(
    toolmark: Command, tmp_path: Path
) -> None:
    toolmark("run", SUITE, "-m", "clerks:clerk", "-j", JUDGE)
    strict = "import toolmark as tm\njudge = tm.ScriptedJudge(lambda evidence: False, 'strict')\n"
    (tmp_path / "strict.py").write_text(strict)
    run = _run_of(tmp_path)
    code, out, _ = toolmark("judge", run.path, "--judge-model", "strict:judge", "--json")
    assert code == 0
    assert json.loads(out)["summary"]["score"]["value"] == 0.0
    code, _, err = toolmark("judge", run.path, "-j", "strict:judge", "-j", "strict:judge")
    assert (code, "given twice" in err) == (2, True)
    code, _, err = toolmark("judge", run.path, "-j", "strict:judge", "--see")
    assert (code, "--see" in err) == (2, True)


def test_labels_are_asked_in_a_drawn_order_without_verdict_and_model(
    toolmark: Command, tmp_path: Path
) -> None:
    toolmark("run", SUITE, "-m", "clerks:clerk", "-j", JUDGE)
    run = _run_of(tmp_path)
    review = LabelReview(run, "ada")
    assert {*review.keys} == {*LabelReview(run, "bob", seed=1).keys}
    assert review.keys == LabelReview(run, "bob").keys
    assert review.keys != LabelReview(run, "ada", seed=1).keys
    for n in range(1, len(review) + 1):
        page = review.render_question(n)
        assert "The reply states every fact" in page
        assert not re.search("fixed-judge|clerk|uncalibrated|rule gives|run-", page)
    place = review.keys.index(("return", 0)) + 1
    assert "14 days" in review.render_question(place)
    assert "in its box" in review.render_question(place)


def test_labels_are_stored_and_the_open_ones_come_first(toolmark: Command, tmp_path: Path) -> None:
    toolmark("run", SUITE, "-m", "clerks:clerk", "-j", JUDGE)
    run = _run_of(tmp_path)
    review = LabelReview(run, "ada")
    review.record_answer(1, ReviewAnswer("pass", note="fine"))
    review.record_answer(3, ReviewAnswer("fail"))
    assert review.next_open(after=3) == "2"  # one that was passed over is not left out
    review.record_answer(3, ReviewAnswer("pass"))
    stored = [json.loads(line) for line in (run.path / LABELS_FILE).read_text().splitlines()]
    assert [(line["task"], line["label"]) for line in stored] == [
        (review.keys[place][0], label) for place, label in ((0, "pass"), (2, "fail"), (2, "pass"))
    ]
    assert review.summary_lines()[0] == "2 labels on 2 episodes, 2 pass"
    assert LabelReview(run, "bob").next_open() == "1"
    code, out, _ = toolmark("score", run.path)
    assert (code, "2 of the 100 labels" in out) == (0, True)
    assert run.summary()["parts"]["judge_sensitivity"]["n"] == 2
    for n in range(1, 7):
        review.record_answer(n, ReviewAnswer("pass"))
    assert review.next_open() == "end"
    assert "toolmark score" in review.render_overview()


def test_labels_are_asked_in_the_browser(toolmark: Command, tmp_path: Path) -> None:
    toolmark("run", SUITE, "-m", "clerks:clerk", "-j", JUDGE)
    run = _run_of(tmp_path)
    words = ["review", str(run.path), "--labels", "--no-open", "--reviewer", "ada"]
    process = subprocess.Popen(
        [sys.executable, "-m", "toolmark", *words], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as reply:
        page = reply.read().decode()
    assert "Pass only if all of this holds" in page
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert "0 labels on 0 episodes" in out


def test_labels_are_for_runs_with_a_rubric(toolmark: Command, tmp_path: Path) -> None:
    toolmark("run", SUITE, "-m", "clerks:clerk", "-j", JUDGE)
    run = _run_of(tmp_path)
    for words in (("--labels", "--ids", "return"), ("--labels", "--blind")):
        assert toolmark("review", run.path, *words)[0] == 2
    (run.path / "judging.json").unlink()
    code, _, err = toolmark("review", run.path, "--labels", "--reviewer", "ada")
    assert (code, "rubric" in err) == (2, True)
