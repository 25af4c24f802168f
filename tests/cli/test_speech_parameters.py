"""Recorded noises, a model that words requests, missing engines: by the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tests.servers import fake
from tests.servers.planning_endpoint import Command, Mind

import toolmark as tm
from toolmark.core.json_codec import encode_record
from toolmark.perturb.speech import speech_synthesis
from toolmark.suites.mfcl_speech import speech_pipeline, speech_task_maker

pytestmark = [
    pytest.mark.speech,
    pytest.mark.skipif(
        not (shutil.which("flite") and shutil.which("espeak-ng")),
        reason="speech needs flite and espeak-ng (sh setup.sh dev installs them)",
    ),
]
RATE = 16_000
TEXT = "Find 3 hotels in Austin under $120"
ITEM = ("-T", "engines=flite", "--seed", "5")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for clips and rooms that all tests share: they are slow to make."""
    return tmp_path_factory.mktemp("said")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, said: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache for speech of its own but for the clips; data stay in the user's."""
    (tmp_path / "speech").mkdir()
    for name in ("voices", "rooms"):
        (said / name).mkdir(exist_ok=True)
        (tmp_path / "speech" / name).symlink_to(said / name)
    monkeypatch.setattr(
        speech_pipeline.SpeechPipeline, "default_folder", staticmethod(lambda: tmp_path / "speech")
    )
    speech_task_maker.load_pipeline.cache_clear()
    return tmp_path / "speech"


def _hiss(seconds: float, rate: int = RATE, channels: int = 1, seed: int = 0) -> np.ndarray:
    gen = np.random.Generator(np.random.PCG64(seed))
    return gen.standard_normal((round(seconds * rate), channels)).astype("f4") * 0.1


def _bad(root: Path) -> set[str]:
    """Fill a folder with what cannot be used; return the names."""
    root.mkdir(exist_ok=True)
    (root / "empty.wav").write_bytes(b"")
    (root / "corrupt.wav").write_bytes(b"RIFF" + bytes(range(256)) * 20)
    (root / "words.wav").write_text("no sound\n" * 100)
    (root / "names.csv").write_text("not looked at")
    soundfile.write(root / "silent.wav", np.zeros(RATE), RATE)
    return {"empty.wav", "corrupt.wav", "words.wav", "silent.wav"}


KINDS = {
    "stereo": lambda path: soundfile.write(path, _hiss(2, channels=2), RATE),
    "eight": lambda path: soundfile.write(path, _hiss(1), RATE, subtype="PCM_U8"),
    "fast": lambda path: soundfile.write(path, _hiss(2, 96_000), 96_000),
    "flac": lambda path: soundfile.write(path, _hiss(1), RATE, format="FLAC"),
    "hour": lambda path: soundfile.write(path, np.tile(_hiss(36, 4000), (100, 1)), 4000),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_of_any_kind_is_the_bed_and_bad_ones_are_listed(
    toolmark: Command, tmp_path: Path, kind: str
) -> None:
    bad = _bad(tmp_path / "noises")
    KINDS[kind](tmp_path / "noises" / f"{kind}.wav")
    said = toolmark("perturb", "speech", TEXT, "--noises", str(tmp_path / "noises"), "--engines",
                    "flite", "--condition", "snr=10", "--json")  # fmt: skip
    assert said.code == 0, said.err
    [made] = json.loads(said.out)
    [stage] = made["settings"]["stages"]
    digest, _, name = stage["values"]["noise"].removeprefix("file:").partition("/")
    assert name == f"{kind}.wav" and len(digest) == 12
    assert "4 not used" in said.err and all(name in said.err for name in bad)
    assert "names.csv" not in said.err


def test_folders_in_which_nothing_can_be_used_are_refused_with_the_next_step(
    toolmark: Command, tmp_path: Path
) -> None:
    _bad(tmp_path / "bad")
    (tmp_path / "bare").mkdir()
    for root, reported in (
        ("bad", "empty: empty.wav"),
        ("bare", "no sound"),
        ("gone", "no folder"),
    ):
        for words in (
            ("perturb", "speech", TEXT, "--noises", root),
            ("run", "mfcl-speech", "-m", "control/null", "-T", f"noises={root}", *ITEM),
            ("make", "mfcl-speech", "-o", "made", "-T", f"noises={root}", *ITEM),
        ):
            said = toolmark(*words)
            assert said.code == 2 and reported in said.err and "give" in said.err, said.err
    assert not list((tmp_path / "runs").glob("*"))


def test_a_run_tells_what_it_drew_from_and_what_it_did_not_use(
    toolmark: Command, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "noises"
    _bad(root)
    for n in range(3):
        soundfile.write(root / f"n{n}.wav", _hiss(3, seed=n), RATE)
    shutil.copy(root / "n0.wav", root / "twin.wav")
    room = np.exp(-np.arange(RATE // 2) / 800) * _hiss(0.5, seed=9)[:, 0]
    soundfile.write(root / "hall_rir_1.wav", np.stack([room, -room], axis=1), RATE)
    said = toolmark("run", "mfcl-transcripts", "-m", "baseline/lexical", "-T", f"noises={root}",
                    "-T", "conditions=snr=15,room", "-T", "recognisers=simulated:a",
                    "--ids", "simple_python_0", *ITEM)  # fmt: skip
    assert said.code == 0, said.err
    assert "5 not used" in said.err and "silent.wav" in said.err and "the same sound as" in said.err
    run = tm.open_run(next((tmp_path / "runs").glob("*/")))
    assert any("corrupt.wav" in note for note in run.info.notes["data"])
    assert len(run.info.hashes["noises"]) == 64
    turns = [task.data["speech"]["turns"][0] for task in run.tasks()]
    noise, reverb = (turn["timeline"][0]["detail"] for turn in turns)
    assert noise["noise"].startswith("file:") and reverb["room"].startswith("file:hall_rir_1/")
    # moved, the same content makes the same task, and nothing anew
    shutil.move(root, tmp_path / "moved")
    monkeypatch.setattr(speech_synthesis, "_synthesise_bytes", None)
    speech_task_maker.load_pipeline.cache_clear()
    before = sorted((home / "utterances").rglob("*.json"))
    parameters = {"conditions": "snr=15,room", "recognisers": "simulated:a", "engines": "flite"}
    moved = tm.load("mfcl-transcripts", noises=str(tmp_path / "moved"), seed=5, **parameters)
    tasks = [task for task in moved if task.item == "simple_python_0"]
    assert [*map(encode_record, moved.maker.make(tasks))] == [*map(encode_record, run.tasks())]
    assert moved.provenance.hashes["noises"] == run.info.hashes["noises"]
    # another content is another set
    (tmp_path / "moved" / "n1.wav").unlink()
    other = tm.load("mfcl-transcripts", noises=str(tmp_path / "moved"), seed=5, **parameters)
    assert other.provenance.hashes["noises"] != moved.provenance.hashes["noises"]
    assert sorted((home / "utterances").rglob("*.json")) == before


# --- a model words it -------------------------------------------------------------------

WORDED = "Hey, could you work out the area of a triangle? Its base is ten units and height is 5."


def _make(toolmark: Command, mind: Mind, *more: str) -> list[dict[str, object]]:
    said = toolmark("run", "mfcl-transcripts", "-m", "baseline/lexical", "-T",
                    f"rewriter={mind.model}", "-T", "conditions=clean", "-T",
                    "recognisers=simulated:a", "-T", "disfluency=false", "--fresh", *ITEM,
                    *more)  # fmt: skip
    assert said.code == 0, said.err
    path = max(Path("runs").glob("*/"), key=lambda path: path.stat().st_mtime_ns)
    return [task.data["speech"]["turns"][0] for task in tm.open_run(path).tasks()]


def test_a_models_wording_is_taken_where_every_value_survives(
    mind: Mind, toolmark: Command, home: Path
) -> None:
    mind.body = fake.says(f"<think>easy</think>\n{WORDED}\n")
    [turn] = _make(toolmark, mind, "--ids", "simple_python_0")
    assert turn["rewritten"] == WORDED.replace("5.", "five."), "what it left in digits is read out"
    assert turn["rewriter"] == mind.model and "refused" not in turn
    [asked] = mind.asked
    given = json.loads(asked.json["messages"][-1]["content"])
    assert "base of 10 units" in given["request"] and given["values"][:2] == ["10", "5"]
    [again] = _make(toolmark, mind, "--ids", "simple_python_0")
    assert again == turn and len(mind.asked) == 1
    shutil.rmtree(home / "utterances")
    speech_task_maker.load_pipeline.cache_clear()
    [again] = _make(toolmark, mind, "--ids", "simple_python_0")
    assert again == turn and len(mind.asked) == 1, "the reply was kept, not only what came of it"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (fake.says("Work out the area of a triangle with base fifteen and height five"), "base=10"),
        (fake.says(""), "empty"),
        (fake.says("[1, 2]" + WORDED * 20), "longer"),
        (fake.says("```json\n{'a': 'b'}\n```" + WORDED), "structured data"),
        (fake.says(WORDED + " 三角形"), "another script"),
        (fake.calls(("area", "{}")), "empty"),
    ],
)  # fmt: skip
def test_a_wording_that_cannot_be_used_gives_way_to_the_rules_and_says_why(
    mind: Mind, toolmark: Command, reply: object, why: str
) -> None:
    mind.body = reply
    [turn] = _make(toolmark, mind, "--ids", "simple_python_0")
    assert why in str(turn["refused"]) and "rewriter" not in turn
    assert "base of ten" in str(turn["rewritten"])


def test_a_key_that_the_rewriter_echoes_reaches_no_file(
    mind: Mind, toolmark: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMARK_API_KEY", "sk-SECRETKEY12345")
    mind.body = fake.says(f"{WORDED} sk-SECRETKEY12345")
    said = toolmark("run", "mfcl-transcripts", "-m", "baseline/lexical", "-T",
                    f"rewriter={mind.model}", *ITEM, "--ids", "simple_python_0", "-T",
                    "recognisers=simulated:a", "-T", "conditions=clean")  # fmt: skip
    assert said.code == 3 and "holds the key" in said.out + said.err
    assert mind.asked and "SECRETKEY" not in said.out + said.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"SECRETKEY" in path.read_bytes()]


def test_many_items_are_worded_once_for_all_conditions(mind: Mind, toolmark: Command) -> None:
    mind.body = fake.says(WORDED)
    turns = _make(toolmark, mind, "-T", "category=expert", "-T", "items=1")
    assert len(turns) == len(mind.asked) == 4, "each asked once, by one process"
    assert all(turn.get("refused") or turn.get("rewriter") for turn in turns)


@pytest.mark.parametrize("status", [401, 500])
def test_a_rewriter_that_does_not_answer_ends_it_before_anything_is_asked(
    mind: Mind, toolmark: Command, tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolmark.suites.mfcl_speech.model_rewording.MAX_RETRIES", 1)
    mind.status, mind.body = status, {"error": {"message": "no"}}
    said = toolmark(
        "run",
        "mfcl-speech",
        "-m",
        "control/null",
        "-T",
        f"rewriter={mind.model}",
        *ITEM,
        "-T",
        "items=2",
        "-T",
        "category=expert",
    )
    assert said.code == 3
    assert "rewriter http" in said.err and "rewriter=rules" in said.err
    assert not list((tmp_path / "runs").glob("*"))
    said = toolmark("perturb", "speech", TEXT, "--rewriter", mind.model, "--engines", "flite")
    assert said.code and "rewriter http" in said.err and "three hotels" not in said.out


def test_a_request_that_alone_is_refused_is_not_run(mind: Mind, toolmark: Command) -> None:
    mind.status, mind.body = 400, {"error": {"message": "content filter"}}
    said = toolmark("run", "mfcl-transcripts", "-m", "baseline/lexical", "-T",
                    f"rewriter={mind.model}", *ITEM, "--ids", "simple_python_0", "-T",
                    "recognisers=simulated:a", "-T", "conditions=text,clean")  # fmt: skip
    assert said.code == 3 and "content filter" in said.out + said.err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("rewriter=baseline/lexical",), "words nothing"),
        (("rewriter=gpt-5",), "no model 'gpt-5'"),
        (("rewriter=http://localhost:1/v1#m", "rewrite=false"), "leave one out"),
    ],
)
def test_what_cannot_word_is_reported(
    toolmark: Command, words: tuple[str, ...], reported: str
) -> None:
    parameters = [part for word in words for part in ("-T", word)]
    said = toolmark("run", "mfcl-speech", "-m", "control/null", *ITEM, *parameters)
    assert said.code == 2 and reported in said.err


# --- a model judges ---------------------------------------------------------------------

WRITTEN = ("-T", "conditions=text", "-T", "category=simple_python", "-T", "items=0")


@pytest.mark.parametrize("name", ["gpt-4o", "control/oracle"])
def test_what_cannot_judge_is_reported_with_the_parameter_before_anything_is_made(
    toolmark: Command, tmp_path: Path, name: str
) -> None:
    said = toolmark("run", "mfcl-speech", "-m", "control/null", "-T", f"judge={name}", *WRITTEN)
    assert said.code == 2 and f"judge={name}" in said.err and "rules, or off" in said.err
    assert not list((tmp_path / "runs").glob("*"))


def test_an_unreadable_ruling_is_quoted_in_why_it_is_not_run(mind: Mind, toolmark: Command) -> None:
    mind.body = fake.says("How do you spell the name?")
    said = toolmark("run", "mfcl-transcripts", "-m", mind.model, "-T", f"judge={mind.model}",
                    "--ids", "simple_python_0", *WRITTEN)  # fmt: skip
    assert said.code == 3
    [attempt] = tm.open_run(next(Path("runs").glob("*/"))).attempts()
    assert f"judge {mind.model} gave no readable ruling" in attempt.failure.message
    assert "'How do you spell the name?'" in attempt.failure.message
    assert "judge=" in attempt.failure.message
    assert (attempt.failure.stage, attempt.failure.kind) == ("user", "user")


# --- what is not installed --------------------------------------------------------------

SAID = ("-T", "conditions=clean", "-T", "items=1", "-T", "category=simple_python", "--seed", "1")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave no command to be found but those put into this folder."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "mfcl-speech", "-m", "control/null", *SAID),
        ("run", "mfcl-transcripts", "-m", "control/null", *SAID),
        ("make", "mfcl-speech", "-o", "made", *SAID),
        ("perturb", "speech", TEXT),
    ],
)
def test_a_missing_engine_names_its_package_and_nothing_is_begun(
    bare: Path, toolmark: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    found = toolmark(*words)
    assert found.code == 2 and "missing=skip" in found.err
    for package in ("espeak-ng (Debian", "install flite", "festvox-kallpc16k"):
        assert package in found.err
    assert not [*(tmp_path / "made").rglob("*"), *(tmp_path / "runs").glob("*")]


def test_the_rest_is_made_where_that_is_asked_for(
    toolmark: Command, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    flite = shutil.which("flite")
    assert flite is not None
    (request.getfixturevalue("bare") / "flite").symlink_to(flite)
    found = toolmark("run", "mfcl-speech", "-m", "control/null", *SAID, "-T", "missing=skip",
                     "-T", "engines=flite,festival")  # fmt: skip
    assert found.code == 0 and "festvox-kallpc16k" in found.err
    run = tm.open_run(next((tmp_path / "runs").glob("*/")))
    assert [t.data["speech"]["turns"][0]["voice"]["engine"] for t in run.tasks()] == ["flite"]
    assert any("festival is not installed" in note for note in run.info.notes["data"])
    found = toolmark("perturb", "speech", TEXT, "--missing", "skip", "--engines", "flite,festival",
                     "--condition", "clean")  # fmt: skip
    assert found.code == 0 and "festvox-kallpc16k" in found.err and "flite" in found.out


def test_no_voice_at_all_is_an_error_even_for_who_would_go_on(
    bare: Path, toolmark: Command
) -> None:
    found = toolmark("perturb", "speech", TEXT, "--missing", "skip", "--engines", "flite,mbrola")
    assert found.code == 2 and "no voice to speak with" in found.err


@pytest.mark.parametrize("hears", ["user", "transcript", "none"])
def test_a_dry_run_tells_the_prompt_and_the_clips_and_makes_none(
    bare: Path, toolmark: Command, hears: str
) -> None:
    parameters = {"category": "simple_python,multi_turn_base", "items": 2, "hears": hears}
    words = [
        part for parameter, value in parameters.items() for part in ("-T", f"{parameter}={value}")
    ]
    said = toolmark("run", "mfcl-speech", "-m", "control/null", *words, "--seed", "1", "--dry-run")
    assert said.code == 0, said.err
    prompt = speech_task_maker.system_prompt(hears)  # type: ignore[arg-type]
    assert (f"The system prompt as sent:\n{prompt}" in said.out) == bool(prompt)
    control = [
        t for t in tm.load("mfcl-speech", seed=1, **parameters) if t.axes["condition"] == "text"
    ]
    turns = sum(bool(written) for task in control for written in task.data["written"])
    assert f"{2 * turns} clips to be spoken" in said.out, "clean and noisy"
    words += ["--seed", "1", "--dry-run"]
    said = toolmark("run", "mfcl-transcripts", "-m", "control/null", *words)
    assert f"{2 * turns} clips to be spoken" in said.out, "once for all recognisers"
    said = toolmark("run", "mfcl-speech", "-m", "control/null", *words, "-T", "conditions=text")
    assert said.code == 0 and "clips" not in said.out


def test_words_alone_want_no_engine(bare: Path, toolmark: Command) -> None:
    found = toolmark("perturb", "speech", TEXT, "--stages", "rewrite,disfluency")
    assert found.code == 0 and "Austin" in found.out
