"""A made set of speech: sound, transcripts, references, whitelist; it is asked as it lies there."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

import toolmark as tm
from toolmark.core import json_codec
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Audio, Call, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import official_data, truth_replay
from toolmark.perturb.hearing import transcript_errors
from toolmark.runs import dataset_folder
from toolmark.suites.mfcl_speech import (
    speech_data_card,
    speech_dataset,
    speech_items,
    speech_pipeline,
    speech_task_maker,
)
from toolmark.suites.mfcl_speech.speech_environments import AnswerVoice
from toolmark.suites.mfcl_speech.speech_task_data import (
    SILENT_TURN,
    SpeechTaskData,
    SpokenTurn,
    Utterance,
)
from toolmark.suites.mfcl_speech.user_answers import UserAnswer

pytestmark = pytest.mark.skipif(
    not shutil.which("flite"), reason="speech needs flite (sh setup.sh dev installs it)"
)
OPTIONS = {
    "items": 1, "category": "simple_python,live_relevance,multi_turn_base", "engines": "flite",
    "conditions": "text,clean,snr=10", "seed": 5,
}  # fmt: skip
SUITES = ("mfcl-speech", "mfcl-transcripts")
EARS = {"simulated:a", "simulated:b", "simulated:c"}


def placed(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(
        speech_pipeline.SpeechPipeline, "default_folder", staticmethod(lambda: home)
    )
    speech_task_maker.load_pipeline.cache_clear()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the set of each suite, made by the same words of the command line."""
    root = tmp_path_factory.mktemp("sets")
    with pytest.MonkeyPatch.context() as patch:
        placed(patch, root / "speech")
        for name in SUITES:
            dataset_folder.write_dataset(root / name, tm.load(name, **OPTIONS))
    speech_task_maker.load_pipeline.cache_clear()
    return {name: root / name for name in SUITES}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def tasks(folder: Path) -> list[Task]:
    return [
        json_codec.decode_record(line, Task)
        for line in (folder / "tasks.jsonl").read_bytes().splitlines()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_every_utterance_lies_there_as_it_is_sent(made: dict[str, Path], name: str) -> None:
    folder = made[name]
    found = {(u["item"], u["condition"], u["turn"]): u for u in lines(folder / "utterances.jsonl")}
    spoken = [task for task in tasks(folder) if task.axes["condition"] != "text"]
    keys = {
        (task.item, task.axes["condition"], turn)
        for task in spoken
        for turn, words in enumerate(task.data["written"]) if words.strip()
    }  # fmt: skip
    assert set(found) == keys
    paths = [u["audio"] for u in found.values()]
    assert len(set(paths)) == len(paths) and "audio/" + spoken[0].item + "/clean.wav" in paths
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*.wav")} == set(paths)
    for task in spoken:
        for turn, audio in enumerate(speech_dataset.task_sounds(task)):
            name = found[task.item, task.axes["condition"], turn]["audio"]
            data = (folder / name).read_bytes()
            assert data == (folder / "media" / audio.sha256[:2] / audio.sha256).read_bytes()
            info = soundfile.info(io.BytesIO(data))
            assert (info.samplerate, info.channels) == (16_000, 1)


@pytest.mark.parametrize("name", SUITES)
def test_transcripts_say_who_wrote_them_and_how_wrong(made: dict[str, Path], name: str) -> None:
    folder = made[name]
    said = {(u["item"], u["condition"], u["turn"]): u for u in lines(folder / "utterances.jsonl")}
    written = lines(folder / "transcripts.jsonl")
    heard = {(t["item"], t["condition"], t["turn"], t["recogniser"]) for t in written}
    assert heard == {(*key, ear) for key in said for ear in EARS}
    assert len(written) == len(heard)
    for each in written:
        known = said[each["item"], each["condition"], each["turn"]]
        assert each["simulated"] is True
        assert each["audio"] == known["audio"]
        assert each["wer"] == transcript_errors.word_error_rate(known["uttered"], each["text"])


def test_both_suites_hear_the_same_in_the_same_sound(made: dict[str, Path]) -> None:
    one, other = ((made[name] / "transcripts.jsonl").read_bytes() for name in SUITES)
    assert sorted(one.splitlines()) == sorted(other.splitlines())


@pytest.mark.parametrize("name", SUITES)
def test_references_and_whitelist_are_those_of_the_tasks(made: dict[str, Path], name: str) -> None:
    folder = made[name]
    references = {(r["item"], r["turn"]): r for r in lines(folder / "references.jsonl")}
    whitelist = {(w["item"], w["turn"]): w["values"] for w in lines(folder / "whitelist.jsonl")}
    for task in tasks(folder):
        turns = range(len(task.turns))
        words = [references[task.item, turn]["written"] for turn in turns]
        assert words == task.data["written"]
        assert [whitelist[task.item, turn] for turn in turns] == task.data["whitelist"]
        assert [
            references[task.item, turn]["calls"] for turn in turns
        ] == speech_items.expected_by_turn(task)
        for turn, reported in enumerate(task.data.get("speech", {}).get("turns", [])):
            assert references[task.item, turn]["uttered"] == reported["uttered"]
    assert (
        len(references)
        == len(whitelist)
        == sum(len(task.turns) for task in tasks(folder) if task.axes["condition"] == "text")
    )


def without_nothing(value: Any) -> Any:
    """Return a value without keys that are None or False: a record leaves such defaults out."""
    match value:
        case dict():
            present = {k: without_nothing(v) for k, v in value.items() if v not in (None, False)}
            return {k: v for k, v in present.items() if v != {}}
        case list():
            return [without_nothing(each) for each in value]
        case _:
            return value


@pytest.mark.parametrize("name", SUITES)
def test_the_record_describes_all_that_a_finished_task_stores(
    made: dict[str, Path], name: str
) -> None:
    for task in tasks(made[name]):
        data = read_task_data(task, SpeechTaskData)
        again = msgspec.json.decode(json_codec.encode_record(data))
        assert without_nothing(again) == without_nothing(task.data)
        assert [turn == SILENT_TURN for turn in data.turns] == [
            turn == {} for turn in task.data.get("speech", {}).get("turns", [])
        ]


def test_the_model_gets_sound_and_no_transcript(made: dict[str, Path]) -> None:
    for task in tasks(made["mfcl-speech"]):
        if task.axes["condition"] != "text":
            for message in (m for turn in task.turns for m in turn.messages if m.role == "user"):
                assert all(isinstance(part, Audio) for part in message.parts)


@pytest.mark.long
def test_the_same_request_makes_the_same_set_elsewhere(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(monkeypatch, tmp_path / "other")
    dataset_folder.write_dataset(tmp_path / "again", tm.load("mfcl-speech", **OPTIONS))
    old = {p.relative_to(made["mfcl-speech"]): p for p in made["mfcl-speech"].rglob("*")}
    new = {p.relative_to(tmp_path / "again"): p for p in (tmp_path / "again").rglob("*")}
    assert old.keys() == new.keys()
    assert all(old[n].read_bytes() == new[n].read_bytes() for n in old if old[n].is_file())


@pytest.mark.parametrize("name", SUITES)
def test_a_set_is_asked_where_nothing_can_be_made(
    made: dict[str, Path], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(monkeypatch, tmp_path / "empty")
    monkeypatch.setenv("PATH", "/nowhere")
    suite = tm.load(name, judge="off")
    run = tm.run(suite, "control/oracle", tasks=made[name], log_dir=tmp_path / "runs")
    found = run.summary()
    assert (found["n_not_run"], found["score"]["value"]) == (0, 1.0)
    assert found["n_run"] == len(tasks(made[name]))
    saved = {path.name for path in (run.path / "media").rglob("*") if path.is_file()}
    assert saved >= {
        audio.sha256 for task in tasks(made[name]) for audio in speech_dataset.task_sounds(task)
    }


class Asks(Model):
    """Asks for the spelling of the first value, then calls nothing right."""

    async def __call__(self, request: Request, /) -> Reply:
        asked = sum(message.role == "assistant" for message in request.messages)
        if asked:
            return Reply(calls=(Call(name="none"),))
        return Reply(text=f"Could you repeat the {self.topic}, please?")

    def __init__(self, topic: str) -> None:
        self.topic = topic


def test_who_answers_in_a_set_has_the_voice_of_the_set(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(monkeypatch, tmp_path / "speech")
    spoken: list[Any] = []
    utter = speech_pipeline.SpeechPipeline.make_utterance

    def listened(
        self: speech_pipeline.SpeechPipeline, job: speech_pipeline.UtteranceJob
    ) -> Utterance:
        done = utter(self, job)
        spoken.append(done.voice)
        return done

    monkeypatch.setattr(speech_pipeline.SpeechPipeline, "make_utterance", listened)
    folder = made["mfcl-speech"]
    task = next(t for t in tasks(folder) if t.id.endswith("@clean") and len(t.turns) == 1
                and t.data["whitelist"][0])  # fmt: skip
    topic = next(iter(task.data["whitelist"][0]))
    suite = tm.load("mfcl-speech", missing="skip")
    tm.run(suite, Asks(topic), tasks=folder, ids=[task.id], log_dir=tmp_path / "runs")
    assert spoken, "it was answered"
    voice = msgspec.to_builtins(spoken[0])
    assert voice == task.data["speech"]["turns"][0]["voice"]


def test_a_set_is_on_record_as_it_was_made_and_needs_no_data_of_bfcl(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(monkeypatch, tmp_path / "empty")
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "no-cache"))

    def fetched() -> Path:
        raise AssertionError("the set needs no wheel")

    monkeypatch.setattr(official_data, "fetch_wheel", fetched)
    monkeypatch.setattr(truth_replay, "load_simulators", fetched)  # it may have been loaded before
    folder = made["mfcl-transcripts"]
    manifest = dataset_folder.read_manifest(folder)
    assert manifest is not None
    singles = [task.id for task in tasks(folder) if len(task.turns) == 1]
    suite = tm.load("mfcl-transcripts", judge="off")
    run = tm.run(suite, "control/oracle", tasks=folder, ids=singles, log_dir=tmp_path / "runs")
    found = tm.open_run(run.path).info
    assert (found.seed, found.hashes, found.notes) == (5, manifest.hashes, {})
    assert found.plan.parameters == manifest.parameters | {"judge": "off"}
    assert run.summary()["n_not_run"] == 0


@pytest.mark.parametrize("parameters", [{"seed": 0}, {"conditions": "noisy"}, {"rate_hz": "24000"}])
def test_what_contradicts_a_set_is_refused(
    made: dict[str, Path], tmp_path: Path, parameters: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="was made with"):
        tm.run(tm.load("mfcl-speech", **parameters), "control/oracle", tasks=made["mfcl-speech"],
               log_dir=tmp_path / "runs")  # fmt: skip


def test_answers_sound_as_the_set_does_and_a_set_chooses_no_service(tmp_path: Path) -> None:
    suite = tm.load("mfcl-speech", judge="rules", noises=())
    assert suite.environment.for_exported_set is not None
    other = {"rewriter": "http://elsewhere/v1#m", "judge": "openai/x", "noises": ("DEMAND",)}
    made = {**suite.parameters, **other, "rate_hz": "24000", "seed": 7, "engines": ("flite",)}
    site: Any = suite.environment.for_exported_set(made, tmp_path).open
    assert (site.recipe.rate_hz, site.recipe.seed, site.recipe.engines) == (24_000, 7, ("flite",))
    assert (site.recipe.noises, site.recipe.rewriter, site.judge) == ((), "", "rules")
    for engine in ("cloud", "piper"):
        with pytest.raises(UsageError, match=f"spoken by {engine}: say -T engines={engine}"):
            suite.environment.for_exported_set({**made, "engines": (engine,)}, tmp_path)


def test_a_voice_that_is_not_here_is_not_asked_for(
    made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(monkeypatch, tmp_path / "speech")
    task = next(t for t in tasks(made["mfcl-speech"]) if t.axes["condition"] == "clean")
    turn = task.data["speech"]["turns"][0]
    media = MediaStore(tmp_path / "speech" / "media")
    answer = UserAnswer("yes", "yes")

    def asked(missing: str, **voice: Any) -> Any:
        speech = {"turns": [turn | {"voice": turn["voice"] | voice}]}
        odd = msgspec.structs.replace(task, data=task.data | {"speech": speech})
        recipe = speech_pipeline.SpeechRecipe(engines=("flite",), missing=missing)  # type: ignore[arg-type]
        return AnswerVoice(recipe, media, MediaStore(tmp_path / "run"))(answer, odd)

    assert isinstance(asked("error").parts[0], Audio)
    with pytest.raises(ToolEnvironmentError, match="voice /etc/evil of flite"):
        asked("error", name="/etc/evil")
    assert asked("skip", name="/etc/evil").parts
    assert asked("error", rate=1e9, pitch=-5.0).parts


def test_the_card_tells_what_a_reader_must_know(made: dict[str, Path]) -> None:
    card = (made["mfcl-speech"] / "README.md").read_text()
    for title in ("Files", "Sources and licences", "What was read", "Left out", "Tasks", "Voices",
                  "Sensitive words", "Synthesisers", "Conditions", "Limits",
                  "Word error rates, measured", "What talk put in"):  # fmt: skip
        assert f"## {title}\n" in card
    assert "simple_python_340 | pictures" in card, "what was left out, and why"
    assert "| simulated:a | simulated | clean |" in card
    assert "Apache-2.0" in card and "--seed 5" in card
    assert str(made["mfcl-speech"].parent) not in card
    assert "bfcl-eval 2026" in card and "| flite |" in card
    assert "GPL" not in card, "eSpeak did not speak"
    for title in ("Left out, by reason", "Whitelist"):
        assert f"## {title}\n" in card


def test_the_card_names_who_went_into_it() -> None:
    recipe = speech_pipeline.SpeechRecipe(
        rewriter="https://me:secret@host/v1#m", noises=("/home/me/DEMAND",)
    )
    reported = " ".join(
        speech_data_card.source_notes(recipe, [("DEMAND", "demand"), ("own", "tree")])
    )
    assert "https://host/v1\\#m" in reported and "folder DEMAND: DEMAND" in reported
    assert "CC BY" in reported and "folder own: no corpus" in reported
    assert "secret" not in reported and "/home" not in reported
    tally = speech_data_card.CardCounts()
    for turn in (
        SpokenTurn(rewriter="m"),
        SpokenTurn(refused="loses x='1'"),
        SpokenTurn(refused="OK"),
        SpokenTurn(rewriter="m"),
    ):
        tally.count_words("item", turn)
    [table] = [table for table in tally.tables() if table.title == "Who worded it"]
    assert ("m", "", 2, "50.0\xa0%") in table.rows
    assert table.note == "Of 4 requests a model's wording was refused for 2."


def test_without_sound_there_is_a_set_all_the_same(tmp_path: Path) -> None:
    suite = tm.load("mfcl-transcripts", **OPTIONS | {"conditions": "text"})
    dataset_folder.write_dataset(tmp_path / "made", suite)
    assert lines(tmp_path / "made" / "references.jsonl")
    assert lines(tmp_path / "made" / "transcripts.jsonl") == []
    assert not (tmp_path / "made" / "audio").exists()


NAMES = st.text(min_size=1, max_size=200) | st.sampled_from(
    ["..", ".", "/", "a/../../b", "A", "a", "a ", "snr=20:cafe+loss@3", "x" * 300, "\x00", "é", "é"]
)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 3)), max_size=30))
def test_names_of_sounds_never_leave_and_never_meet(keys: list[tuple[str, str, int]]) -> None:
    names = speech_dataset.SoundNames()
    found = {key: names.sound_name(*key) for key in keys}
    assert found == {key: names.sound_name(*key) for key in keys}, "asked again it is the same"
    assert len({name.casefold() for name in found.values()}) == len(found)
    for name in found.values():
        top, item, file = name.split("/")
        assert top == "audio" and file.endswith(".wav")
        for part in (item, file):
            assert part.isascii() and part.isprintable() and not part.startswith(".")
            assert len(part) < 120 and not set(part) & set('\\:*?"<>| ')
