"""Before a run with sound the model is asked once whether it hears; a deaf one is marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini
from tests.servers import fake
from tests.servers.listener import NEEDS_SOUND, NO_SOUND, Listener, clips_of

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Part, Task, Text, Turn
from toolmark.models.probes import media_probes
from toolmark.perturb.speech import spoken_digits
from toolmark.reports.html_report import write_report
from toolmark.runs import sound_checks
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Provenance, Suite

pytestmark = pytest.mark.speech


def sounding(folder: Path, *kinds: str) -> Suite:
    """Return a suite of one task for each kind, sound or text."""
    media = MediaStore(folder)
    sound = media.add_audio(media_probes.synthesize_beeps(1), "audio/wav")
    tasks = []
    for number, kind in enumerate(kinds):
        parts: tuple[Part, ...] = (sound,) if kind == "sound" else (Text("1 + 1"),)
        turn = Turn(messages=(Message(role="user", parts=parts),))
        tasks.append(Task(id=f"{kind}{number}", turns=(turn,)))
    return Suite(
        name="sounding", tasks=tasks, scorer=mini.SCORER, provenance=Provenance(media=media)
    )


def play(path: Path, listener: Listener, *kinds: str, **settings: Any) -> Run:
    """Run a suite of these tasks on an endpoint."""
    suite = sounding(path / "media", *(kinds or ("sound", "text")))
    with fake.in_thread(listener) as server:
        return tm.run(suite, f"{server.url}#m", log_dir=path / "runs", **settings)


def test_a_model_that_hears_is_on_record_and_nothing_is_marked(tmp_path: Path) -> None:
    listener = Listener()
    run = play(tmp_path, listener)
    sound = run.info.sound
    assert sound is not None and (sound.hearing, sound.text_only) == ("heard", "taken")
    assert len(sound.spoken) == 6 and sound.n_requests == 2
    assert len(listener.bodies) == 2 + 2  # the clip, a word, two tasks
    assert "sound" not in run.info.notes and "caution" not in run.summary()


def test_the_requests_of_the_checks_are_counted_apart(tmp_path: Path) -> None:
    run = play(tmp_path, Listener(), price="10,20", max_tokens=50, max_cost=1.0)
    checks = run.info.unrecorded.others[sound_checks.PURPOSE]
    assert run.info.sound is not None and checks.n_replies == run.info.sound.n_requests == 2
    cost = run.summary()["spent"]["cost"]
    assert cost["others"]["n_replies"] == 2 and cost["model"]["n_replies"] == 2
    assert cost["others"]["paid_usd"] == pytest.approx(2 * (40 * 10 + 6 * 20) / 1e6)


def test_a_deaf_endpoint_is_marked_in_run_summary_and_report(tmp_path: Path) -> None:
    run = play(tmp_path, Listener(is_deaf=True))
    sound = run.info.sound
    assert sound is not None and sound.hearing == "not_heard"
    (note,) = run.info.notes["sound"]
    assert note == (
        f"the model may not hear: a spoken clip says {sound.spoken}, it answered "
        "'I am ready. How can I help?'"
    )
    caution = run.summary()["caution"]
    assert caution.startswith("the endpoint takes sound and may ignore it")
    write_report([run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert caution in page and sound.spoken in page


def test_what_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    first = Listener(is_deaf=True)
    suite = sounding(tmp_path / "media", "sound", "sound")
    with fake.in_thread(first) as server:
        asked: dict[str, Any] = {"model": f"{server.url}#m", "log_dir": tmp_path / "runs"}
        run = tm.run(suite, **asked)
        n = len(first.bodies)
        lines = (run.path / "trajectories.jsonl").read_text().splitlines(keepends=True)
        (run.path / "trajectories.jsonl").write_text(lines[0])
        (run.path / "summary.json").unlink()
        again = tm.run(suite, **asked)
    assert again.path == run.path and again.info.sound == run.info.sound
    assert n == 3 and len(first.bodies) == n + 1


@pytest.mark.parametrize(
    ("needs_speech", "outcome", "asked"),
    [(False, "with_silence", ["sound0", "text1", "text2"]), (True, "left_out", ["sound0"])],
)
def test_a_model_that_refuses_text_gets_silence_or_fewer_tasks(
    tmp_path: Path, needs_speech: bool, outcome: str, asked: list[str]
) -> None:
    listener = Listener(needs_sound=True, needs_speech=needs_speech, is_deaf=True)
    run = play(tmp_path, listener, "sound", "text", "text")
    sound = run.info.sound
    assert sound is not None and sound.text_only == outcome
    assert sound.changed_tasks == ("text1", "text2") and NEEDS_SOUND in sound.complaint
    played = sorted(each.task for each in run.trajectories())
    assert [task.id for task in run.tasks()] == asked == played
    assert run.summary()["n_not_run"] == 0
    assert "text1, text2" in run.info.notes["sound"][-1]
    assert "2 tasks without sound" in run.summary()["caution"]
    assert all(clips_of(body) for body in listener.bodies[3:])


def test_a_run_whose_tasks_got_silence_goes_on(tmp_path: Path) -> None:
    listener = Listener(needs_sound=True, is_deaf=True)
    suite = sounding(tmp_path / "media", "sound", "text")
    with fake.in_thread(listener) as server:
        asked: dict[str, Any] = {"model": f"{server.url}#m", "log_dir": tmp_path / "runs"}
        run = tm.run(suite, **asked)
        (run.path / "trajectories.jsonl").write_text("")
        (run.path / "summary.json").unlink()
        n = len(listener.bodies)
        assert tm.run(suite, **asked).path == run.path
    assert len(listener.bodies) == n + 2


def test_a_model_without_sound_is_refused_before_a_task_is_asked(tmp_path: Path) -> None:
    listener = Listener(takes_sound=False)
    with pytest.raises(UsageError, match="asks by sound, which this model does not take"):
        play(tmp_path, listener)
    assert len(listener.bodies) == 1
    assert not [*(tmp_path / "runs").glob("*/")]


@pytest.mark.parametrize(
    ("kinds", "settings"),
    [(("sound", "text"), {"canary": False}), (("text", "text"), {})],
)
def test_nothing_is_asked_without_the_canary_or_without_sound(
    tmp_path: Path, kinds: tuple[str, ...], settings: dict[str, Any]
) -> None:
    listener = Listener(is_deaf=True)
    run = play(tmp_path, listener, *kinds, **settings)
    assert run.info.sound is None and len(listener.bodies) == 2


def test_without_a_voice_a_tone_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> bytes:
        raise UsageError("no voice to speak with")

    monkeypatch.setattr(spoken_digits, "speak_digits", refuse)
    sound = play(tmp_path, Listener(is_deaf=True)).info.sound
    assert sound is not None
    assert (sound.hearing, sound.reason) == ("unknown", "no voice to speak with")
    with pytest.raises(UsageError, match=NO_SOUND):
        play(tmp_path / "other", Listener(takes_sound=False))


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ("127804", True),
        ("1-2-7-8-0-4", True),
        ("The digits are one, two, seven, eight, zero, four.", True),
        ("won to seven ate oh for", True),
        ("127894", True),  # one of them misheard
        ("1927 804", True),  # one too many
        ("125894", False),
        ("The recording has 6 digits: 127804", True),
        ("0123456789", False),
        ("1 2 3 4 5 6", False),
        ("I cannot hear.", False),
        ("", False),
    ],
)
def test_digits_are_read_as_figures_or_words(answer: str, heard: bool) -> None:
    assert sound_checks.has_heard("127804", answer) is heard
