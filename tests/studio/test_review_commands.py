"""The commands: what they print, what they refuse, how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.reports.page_reader import read_page
from tests.studio.conftest import Maker

from toolmark.cli import app
from toolmark.studio.review_server import ReviewAnswer
from toolmark.studio.run_review import RunReview

Said = tuple[int, str, str]
Command = Callable[..., Said]


@pytest.fixture
def toolmark(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line and return its code, stdout and stderr."""
    monkeypatch.setenv("USER", "ada")

    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["toolmark", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), said.out, said.err

    return run


def test_a_review_ends_cleanly_at_an_interrupt(make_run: Maker) -> None:
    run = make_run()
    RunReview(run, "ada").record_answer(1, ReviewAnswer("reject"))
    process = subprocess.Popen(
        [sys.executable, "-m", "toolmark", "review", str(run.path), "--no-open"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "USER": "ada", "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    assert process.stdout.readline() == "5 questions; end with Ctrl-C\n"
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as reply:
        assert reply.url == f"{url}2"  # it answers: nothing of its start is cut short
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out == "0 accepted, 0 edited, 1 rejected, 4 open\n"


def test_the_browser_is_opened_unless_switched_off(
    make_run: Maker, toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def stop(server: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("toolmark.studio.review_server.ReviewServer.serve_forever", stop)
    code, out, _ = toolmark("review", make_run().path)
    assert code == 0
    assert opened == [out.splitlines()[0]]
    toolmark("review", make_run().path, "--no-open")
    assert len(opened) == 1


def test_references_are_exported_without_a_server(
    make_run: Maker, toolmark: Command, tmp_path: Path
) -> None:
    run = make_run()
    RunReview(run, "ada").record_answer(1, ReviewAnswer("accept"))
    code, out, _ = toolmark("review", run.path, "--export", tmp_path / "truth.json")
    assert code == 0
    assert out.endswith("1 reference, 0 of them edited; left out: 4 not decided\n")
    assert len(json.loads((tmp_path / "truth.json").read_text())) == 1


def test_wrong_words_are_refused_with_what_is_right(
    make_run: Maker, toolmark: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a, b = make_run().path, make_run(model="test/two").path
    for words, said in (
        ((a, b), "review one run at a time"),
        ((a, "--blind"), "--blind compares two runs"),
        ((a, "--pairs", "--export", "x"), "one at a time"),
        ((tmp_path,), "not a run folder"),
        ((a, "--ids", "7"), "no task '7'"),
        ((a, "--export", tmp_path / "t.json"), "nothing was accepted"),
    ):
        code, _, err = toolmark("review", *words)
        assert code == 2, err
        assert said in err
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # a container's user without a name
    assert "name yourself with --reviewer" in toolmark("review", a)[2]


def test_calibrate_prints_thresholds_and_writes_a_page(toolmark: Command, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [{"similarity": 0.5 + i / 50, "same": i > 9} for i in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = toolmark("calibrate", path, "-o", tmp_path / "c.html")
    assert code == 0
    assert "weak: greatest F1" in out
    assert err.strip() == str(tmp_path / "c.html")
    assert read_page(tmp_path / "c.html").root.find("svg")
    code, out, _ = toolmark("calibrate", path, "--json")
    found = json.loads(out)
    assert (found["n"], found["n_same"], len(found["levels"])) == (20, 10, 56)
    assert found["best"][0]["threshold"]["value"] == 0.69  # of 0.69 and 0.70
    assert found["levels"][-1]["precision"] is None
    code, _, err = toolmark("calibrate", tmp_path / "none.jsonl")
    assert (code, "no such file" in err) == (2, True)
    os.mkfifo(tmp_path / "pipe")  # nobody writes there: it would be waited on for ever
    code, _, err = toolmark("calibrate", tmp_path / "pipe")
    assert (code, "pipe: not a file" in err) == (2, True)
