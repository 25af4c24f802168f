"""Both speech suites on real voices: what they lack is made once, in any order, and is scored."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import toolmark as tm
from toolmark.baselines import speech_listener
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Audio, Call, Reply, Request, Task
from toolmark.perturb.speech import speech_synthesis
from toolmark.perturb.speech.audio_clip import decode_clip
from toolmark.suites.mfcl_speech import speech_items, speech_pipeline, speech_task_maker
from toolmark.suites.model_registry import make_model

pytestmark = pytest.mark.skipif(
    not (shutil.which("flite") and shutil.which("espeak-ng")),
    reason="speech needs flite and espeak-ng (sh setup.sh dev installs them)",
)
FEW: dict[str, Any] = {"items": 1, "engines": ("flite", "espeak-ng"), "seed": 5}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache for speech of its own; data stay in the user's."""
    monkeypatch.setattr(
        speech_pipeline.SpeechPipeline, "default_folder", staticmethod(lambda: tmp_path / "speech")
    )
    speech_task_maker.load_pipeline.cache_clear()
    return tmp_path / "speech"


def made(suite: tm.Suite) -> list[Task]:
    return list(suite.maker.make(suite))


def test_every_entry_is_asked_in_every_condition_by_every_recogniser() -> None:
    suite = tm.load("mfcl-transcripts", category="expert,live_relevance", **FEW)
    tasks = list(suite)
    assert len(tasks) == len(suite) == 5 * (2 + 2 * 3)
    assert len({task.id for task in tasks}) == len(tasks)
    assert {task.axes["condition"] for task in tasks} == {"text", "said", "clean", "noisy"}
    assert all(task.turns[-1].messages[-1].text for task in tasks), "nothing is made yet"


def test_about_as_many_entries_can_be_said_as_published() -> None:
    names = ("simple_python", "live_simple", "live_parallel", "live_parallel_multiple")
    entries, dropped, _ = speech_items.read_entries(names, 0, 0)
    saved = {name: sum(task.category == name for task in entries) for name in names}
    print(saved, dropped)
    published = {"simple_python": 399, "live_simple": 243, "live_parallel": 14,
                 "live_parallel_multiple": 22}  # fmt: skip
    assert all(abs(saved[name] - n) <= 0.04 * n + 1 for name, n in published.items())


def test_the_same_seed_makes_the_same_bytes_in_any_order_and_only_once(
    monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path
) -> None:
    conditions = "clean,noisy"
    suite = tm.load("mfcl-speech", category="simple_python,multiple", conditions=conditions, **FEW)
    first = made(suite)
    again = made(suite)
    assert first == again
    said: list[str] = []
    monkeypatch.setattr(
        speech_synthesis, "_synthesise_bytes", lambda words, voice: said.append(words)
    )
    speech_task_maker.load_pipeline.cache_clear()
    assert made(suite) == first and not said, "all of it was kept"
    monkeypatch.undo()
    monkeypatch.setattr(
        speech_pipeline.SpeechPipeline,
        "default_folder",
        staticmethod(lambda: tmp_path / "elsewhere"),
    )
    speech_task_maker.load_pipeline.cache_clear()
    backwards = [task for task in reversed(list(suite))]
    fresh = tm.load("mfcl-speech", category="simple_python,multiple", conditions=conditions, **FEW)
    other = {task.id: task for task in fresh.maker.make(backwards)}
    assert [other[task.id] for task in first] == first


def test_an_item_has_one_voice_and_one_wording_in_all_conditions() -> None:
    suite = tm.load(
        "mfcl-transcripts", category="simple_python", items=2, engines="flite", seed=3,
        conditions="clean,snr=10,talkers,network,device", recognisers="simulated:a",
    )  # fmt: skip
    turns = [task.data["speech"]["turns"][0] for task in made(suite)]
    for item in (turns[:5], turns[5:]):
        assert len({(turn["uttered"], json.dumps(turn["voice"])) for turn in item}) == 1
        modules = {e["module"] for turn in item for e in turn.get("timeline", ())}
        assert modules == {"environment", "talkers", "network", "device"}
        assert "timeline" not in item[0], "clean is clean"
        assert item[1]["snr_db"] == pytest.approx(10)


def test_the_spoken_words_are_asked_as_text_without_a_sound() -> None:
    suite = tm.load(
        "mfcl-transcripts", category="simple_python", items=3, engines="flite", seed=3,
        conditions="said,clean", recognisers="simulated:a",
    )  # fmt: skip
    by_item: dict[str, dict[str, Task]] = {}
    for task in made(suite):
        by_item.setdefault(task.item, {})[task.axes["condition"]] = task
    assert len(by_item) == 3
    for tasks in by_item.values():
        heard = tasks["clean"].data["speech"]["turns"][0]
        assert tasks["said"].turns[-1].messages[-1].text == heard["uttered"]
        assert "speech" not in tasks["said"].data
        assert "recogniser" not in tasks["said"].axes


def test_words_are_asked_as_text_where_no_voice_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_voice(self: object) -> None:
        raise UsageError("no synthesiser")

    monkeypatch.setattr(speech_pipeline.SpeechPipeline, "check_available", no_voice)
    suite = tm.load("mfcl-speech", category="simple_python", conditions="said", **FEW)
    (task,) = made(suite)
    assert task.turns[-1].messages[-1].text and not suite.maker.makes_sound


class Asks(Model):
    """Asks for the spelling of the first value, then makes the right calls."""

    def __init__(self, right: list[Call]) -> None:
        self.right = right
        self.seen: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.seen.append(request)
        if len(self.seen) == 1:
            return Reply(text="Could you repeat the base, please?")
        return Reply(calls=tuple(self.right))


@pytest.mark.parametrize("suite", ["mfcl-speech", "mfcl-transcripts"])
def test_who_asks_for_a_value_is_answered_and_goes_on(suite: str, tmp_path: Path) -> None:
    loaded = tm.load(suite, category="simple_python", conditions="clean", engines="flite", **(
        {} if suite == "mfcl-speech" else {"recognisers": "simulated:a"}))  # fmt: skip
    call = Call(name="calculate_triangle_area", arguments='{"base": 10, "height": 5}')
    model = Asks([call])
    run = tm.run(loaded, model, ids=["simple_python_0"], log_dir=tmp_path)
    [trajectory] = run.trajectories()
    ruling = trajectory.steps[0].ruling
    assert ruling is not None and ruling.allowed and "10" in ruling.reply
    assert run.summary()["score"]["value"] == 1
    answer = model.seen[-1].messages[-1]
    spoken = [part for part in answer.parts if isinstance(part, Audio)]
    if suite == "mfcl-speech":
        clip = decode_clip(MediaStore(run.path / "media").read(spoken[0]))
        assert 0.3 < clip.seconds < 10
    else:
        assert answer.text and not spoken


def test_oracle_and_null_and_what_cannot_be_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tm.load(
        "mfcl-transcripts", category="expert,multi_turn,irrelevance", conditions="clean",
        recognisers="simulated:b", **FEW,
    )  # fmt: skip
    assert tm.run(suite, "control/oracle", log_dir=tmp_path).summary()["score"]["value"] == 1
    null = tm.run(suite, "control/null", log_dir=tmp_path)
    right = {score.category for score in null.scores() if score.verdicts["official"].value}
    assert right <= {"irrelevance", "live_irrelevance"}
    plain = speech_synthesis.synthesise_clip

    def mute(text: str, voice: Any, **more: Any) -> Any:
        if "triangle" in text.lower():
            raise DataError("no sound came")
        return plain(text, voice, **more)

    monkeypatch.setattr(speech_synthesis, "synthesise_clip", mute)
    speech_task_maker.load_pipeline.cache_clear()
    one = tm.load("mfcl-speech", category="simple_python", conditions="clean", engines="flite")
    run = tm.run(
        one, "control/oracle", ids=["simple_python_0", "simple_python_1"], log_dir=tmp_path
    )
    assert (run.summary()["n_run"], run.summary()["n_not_run"]) == (1, 1)
    assert "no sound came" in next(iter(run.attempts())).failure.message


def test_what_could_not_be_spoken_is_made_when_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = speech_synthesis.synthesise_clip

    def mute(text: str, voice: Any, **more: Any) -> Any:
        if "triangle" in text.lower():
            raise DataError("no sound came")
        return plain(text, voice, **more)

    def run() -> tm.Run:
        speech_task_maker.load_pipeline.cache_clear()
        suite = tm.load("mfcl-speech", category="simple_python", conditions="clean", **(
            FEW | {"engines": "flite", "items": 0}))  # fmt: skip
        return tm.run(suite, "control/oracle", ids=["simple_python_0", "simple_python_1"],
                      log_dir=tmp_path)  # fmt: skip

    monkeypatch.setattr(speech_synthesis, "synthesise_clip", mute)
    first = run()
    assert (first.summary()["n_run"], first.summary()["n_not_run"]) == (1, 1)
    again = run()
    assert again.path == first.path and again.summary()["n_not_run"] == 1, "it fails as before"
    saved = (
        next(first.tasks()) if "failed" not in str(next(first.tasks())) else list(first.tasks())[1]
    )
    monkeypatch.setattr(speech_synthesis, "synthesise_clip", plain)
    last = run()
    assert last.path == first.path
    assert (last.summary()["n_run"], last.summary()["n_not_run"]) == (2, 0)
    last.verify_tasks()
    tasks = list(last.tasks())
    assert saved in tasks and not any("failed" in task.data["speech"] for task in tasks)
    for task in tasks:
        [part] = task.turns[0].messages[-1].parts
        assert isinstance(part, Audio) and MediaStore(last.path / "media").read(part)


def test_a_model_that_cannot_hear_is_refused_before_anything_is_made(
    tmp_path: Path, home: Path
) -> None:
    suite = tm.load("mfcl-speech", category="simple_python", conditions="clean", **FEW)
    with pytest.raises(UsageError, match="mfcl-transcripts asks the same by text"):
        tm.run(suite, "baseline/lexical", log_dir=tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*")) and not (home / "media").exists()


def test_what_cannot_be_asked_for_is_reported() -> None:
    with pytest.raises(UsageError, match="no category 'exprt'; did you mean: expert"):
        tm.load("mfcl-speech", category="exprt")
    with pytest.raises(UsageError, match="no acoustic condition 'noissy'"):
        made(tm.load("mfcl-speech", category="simple_python", conditions="noissy", **FEW))


def test_the_sound_in_a_run_is_16_khz_pcm(tmp_path: Path) -> None:
    suite = tm.load("mfcl-speech", category="simple_python", conditions="clean", **FEW)
    run = tm.run(suite, "control/null", log_dir=tmp_path)
    [task] = run.tasks()
    [part] = [p for m in task.turns[0].messages for p in m.parts if isinstance(p, Audio)]
    data = MediaStore(run.path / "media").read(part)
    assert hashlib.sha256(data).hexdigest() == part.sha256
    assert decode_clip(data).rate == 16_000 and part.mime == "audio/wav"
    assert int.from_bytes(data[34:36], "little") == 16


def test_presets_are_drawn_again_until_a_listener_can_follow(home: Path) -> None:
    recipe = speech_pipeline.SpeechRecipe(seed=1, engines=("flite",))
    job = speech_pipeline.UtteranceJob(
        item="x", turn=0, written="Book a table for four at eight", condition="harsh"
    )
    one = speech_pipeline.SpeechPipeline(recipe, home)
    found = [one.make_utterance(msgspec.structs.replace(job, item=f"x{n}")) for n in range(12)]
    assert sum(bool(done.gate) for done in found) <= 3
    assert any(done.draws > 1 for done in found), "none was too hard at first"
    assert all(done.draws == 4 for done in found if done.gate)
    fixed = one.make_utterance(msgspec.structs.replace(job, condition="snr=-20"))
    assert fixed.gate and fixed.draws == 1, "what was asked for stays as it was asked for"


def test_the_listener_hears_real_sound_and_calls(tmp_path: Path) -> None:
    suite = tm.load("mfcl-speech", category="simple_python", conditions="clean", engines="flite",
                    rewrite=False, disfluency=False)  # fmt: skip
    run = tm.run(suite, "baseline/listener", ids=["simple_python_0"], log_dir=tmp_path)
    assert run.summary()["n_run"] == 1
    [task] = run.tasks()
    [part] = task.turns[0].messages[-1].parts
    assert isinstance(part, Audio)
    ears = speech_listener.SpeechListener(MediaStore(run.path / "media"))
    heard = asyncio.run(ears._transcribe_message(task.turns[0].messages[-1])).text
    assert {"area", "triangle"} & set(heard.split()), heard
    with pytest.raises(UsageError, match="listener wants pictures or recordings"):
        make_model("baseline/listener")
