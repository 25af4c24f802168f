"""The booth: what is kept is what the same makers would make again; the record says true things."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from toolmark.core import package_versions
from toolmark.core.errors import DataError
from toolmark.core.records import Message, Task, Text, Turn
from toolmark.language.argument_facts import SpokenText, TextChange
from toolmark.perturb.speech import speech_synthesis
from toolmark.perturb.speech.effect_timeline import Effect
from toolmark.suites.mfcl_speech import speech_items, speech_pipeline, speech_task_maker
from toolmark.suites.mfcl_speech.speech_pipeline import (
    SpeechPipeline,
    SpeechRecipe,
    UtteranceJob,
    UtteranceWords,
)
from toolmark.suites.mfcl_speech.speech_task_data import Utterance

pytestmark = pytest.mark.skipif(
    not shutil.which("flite"), reason="speech needs flite (sh setup.sh dev installs it)"
)
JOB = UtteranceJob(item="x", turn=0, written="Book a table for 4 at 7:30 pm", condition="clean")
PLAIN = SpeechRecipe(seed=1, engines=("flite",))


def torn(home: Path) -> None:
    for path in (home / "media").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")


def hollow(home: Path) -> None:
    for path in (home / "utterances").rglob("*.json"):
        path.write_bytes(b"{}")


def gone(home: Path) -> None:
    shutil.rmtree(home / "media")


@pytest.mark.parametrize("spoil", [torn, hollow, gone])
def test_what_is_spoilt_on_disk_is_made_again(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    first = SpeechPipeline(PLAIN, tmp_path).make_utterance(JOB)
    spoil(tmp_path)
    one = SpeechPipeline(PLAIN, tmp_path)
    again = one.make_utterance(JOB)
    assert again == first and again.audio is not None
    assert len(one.media.read(again.audio)) == again.audio.size_bytes
    assert SpeechPipeline(PLAIN, tmp_path).make_utterance(JOB) == first


def test_other_libraries_make_it_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SpeechPipeline(PLAIN, tmp_path).make_utterance(JOB)
    n = len(list((tmp_path / "utterances").rglob("*.json")))
    SpeechPipeline(PLAIN, tmp_path).make_utterance(JOB)
    assert len(list((tmp_path / "utterances").rglob("*.json"))) == n == 1
    real = package_versions.installed_versions
    monkeypatch.setattr(
        package_versions, "installed_versions", lambda names: real(names) | {"soxr": "0.0"}
    )
    speech_pipeline._library_versions.cache_clear()
    try:
        SpeechPipeline(PLAIN, tmp_path).make_utterance(JOB)
    finally:
        speech_pipeline._library_versions.cache_clear()
    assert len(list((tmp_path / "utterances").rglob("*.json"))) == 2


def test_changes_are_in_order_first_of_the_rewrite_then_of_talk() -> None:
    first = SpokenText(
        "a b c", (TextChange("number", 2, "3", "c"), TextChange("date", 0, "1", "a"))
    )
    talk = (TextChange("marker", 4, "", "so"), TextChange("filled_pause", 1, "", "um"))
    done = speech_pipeline._utterance_without_sound(
        UtteranceWords(first, SpokenText("a um b c so", (*first.changes, *talk)))
    )
    assert [change[:2] for change in done.changes] == [
        ("date", 0), ("number", 2), ("filled_pause", 1), ("marker", 4)
    ]  # fmt: skip
    assert len(speech_pipeline._utterance_without_sound(UtteranceWords(first, first)).changes) == 2


def test_positions_of_disfluencies_are_those_in_what_is_said(tmp_path: Path) -> None:
    one = SpeechPipeline(PLAIN, tmp_path)
    seen = 0
    for n in range(20):
        text = "Please find 3 cheap hotels in Austin, Texas, and book the best one for 2 nights"
        job = msgspec.structs.replace(JOB, item=f"x{n}", written=text)
        words = one.word_request(job)
        rewritten = len(words.rewritten.changes)
        talk = speech_pipeline._utterance_without_sound(words).changes[rewritten:]
        assert [at for _, at, _, _ in talk] == sorted(at for _, at, _, _ in talk)
        for _, at, _, after in talk:
            assert words.final.text.split()[at : at + len(after.split())] == after.split()
        seen += len(talk)
    assert seen > 20


def test_a_voice_that_fails_leaves_the_bank_unmade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mute(words: str, voice: object) -> bytes:
        raise DataError("no sound came")

    monkeypatch.setattr(speech_synthesis, "_synthesise_bytes", mute)
    done = SpeechPipeline(PLAIN, tmp_path).make_utterance(
        msgspec.structs.replace(JOB, condition="talkers")
    )
    assert "no sound came" in done.failed and done.audio is None


# --- tasks ------------------------------------------------------------------------------


def test_a_turn_is_one_utterance_or_the_entry_is_left_out() -> None:
    entries, dropped, _ = speech_items.read_entries(("live_irrelevance",), 0, 0)
    assert "several messages" in dropped["live_irrelevance_292-72-1"]
    for entry in entries:
        for turn in entry.turns:
            assert [m.role for m in turn.messages if m.role != "system"] == ["user"]


def _task(*messages: Message) -> Task:
    return Task(id="x", suite="mfcl-speech", turns=(Turn(messages=messages),))


def test_one_system_message_is_sent_and_it_is_the_first() -> None:
    maker = speech_task_maker.SpeechTaskMaker(
        recipe=PLAIN, form="sound", speech_folder="", prompt="You hear."
    )
    own = Message(role="system", parts=(Text("Be brief."),))
    said = Message(role="user", parts=(Text("Hello"),))
    for given in ((own, said), (said, own)):
        [system, user] = maker.add_system_prompt(_task(*given)).turns[0].messages
        assert (system.role, system.text, user) == ("system", "You hear.\n\nBe brief.", said)
    [system, user] = maker.add_system_prompt(_task(said)).turns[0].messages
    assert (system.text, user) == ("You hear.", said)


def _effect(name: str, ratio: float) -> Effect:
    return Effect(
        module="environment", name=name, start_s=0, end_s=1, severity=1, detail={"snr_db": ratio}
    )


@pytest.mark.parametrize(
    ("effects", "ratio"),
    [
        ((("bed", 10.0),), 10.0),
        ((("talker", 7.0),), 7.0),
        ((("bed", 10.0), ("talker", 10.0)), 10 - 3.0103),
        ((("bed", 13.0103), ("talker", 13.0103), ("talker", 10.0), ("rub", 0.0)), 10 - 3.0103),
        ((("event", 0.0), ("rub", 0.0)), None),
    ],
)
def test_the_ratio_of_an_utterance_is_to_all_that_sounds_along(
    effects: tuple[tuple[str, float], ...], ratio: float | None
) -> None:
    timeline = tuple(_effect(*each) for each in effects)
    reported = speech_task_maker._utterance_record(Utterance(timeline=timeline), "")
    assert reported.get("snr_db") == (ratio if ratio is None else pytest.approx(ratio, abs=1e-3))


def test_presets_with_others_who_talk_tell_the_ratio_to_both(tmp_path: Path) -> None:
    done = SpeechPipeline(PLAIN, tmp_path).make_utterance(
        msgspec.structs.replace(JOB, condition="snr=20+talker@3")
    )
    assert {effect.name for effect in done.timeline} == {"bed", "talker"}
    assert speech_task_maker._utterance_record(done, "")["snr_db"] < 12, (
        "the other talker is at 7 to 12 dB"
    )
