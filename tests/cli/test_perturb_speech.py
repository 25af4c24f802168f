"""`toolmark perturb speech`: one stage or all, seeded, recorded, and clear about what cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tests.servers.planning_endpoint import Command, Mind

pytestmark = [
    pytest.mark.speech,
    pytest.mark.skipif(
        not shutil.which("flite"), reason="speech needs flite (sh setup.sh dev installs it)"
    ),
]
TEXT = "Find 3 hotels in Austin under $120"


def test_words_alone_need_no_voice(toolmark: Command) -> None:
    said = toolmark("perturb", "speech", TEXT, "--stages", "rewrite", "--seed", "4")
    assert said.code == 0
    assert "three hotels in Austin" in said.out and "dollars" in said.out
    assert "voice" not in said.out


def test_all_stages_are_stored_and_the_same_for_a_seed(toolmark: Command, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text(f"{TEXT}\n\nTurn the lights off\n")
    for folder in ("a", "b"):
        said = toolmark(
            "perturb", "speech", str(texts), "--engines", "flite", "--condition", "talkers@2",
            "--ears", "simulated:a", "--seed", "4", "-o", str(tmp_path / folder),
        )  # fmt: skip
        assert said.code == 0, said.err
    one, other = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.name for path in one] == ["0000.wav", "0001.wav", "record.jsonl"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    first, second = map(json.loads, one[-1].read_text().splitlines())
    assert first["voice"]["engine"] == "flite" and first["heard"]["simulated:a"]["simulated"]
    assert [effect["module"] for effect in second["timeline"]] == ["talkers"]
    again = toolmark("perturb", "speech", str(one[0]), "--condition", "loss@2", "--ears", "none",
                     "--stages", "acoustics", "--json")  # fmt: skip
    [made] = json.loads(again.out)
    assert {effect["name"] for effect in made["timeline"]} <= {"loss", "gap"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_of_a_file_is_a_request_however_it_ends(
    end: str, toolmark: Command, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_bytes(end.join((TEXT, "", "Play\u2028jazz", "")).encode())
    said = toolmark("perturb", "speech", str(texts), "--stages", "rewrite", "--json")
    assert [made["name"] for made in json.loads(said.out)] == ["0000", "0001"]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--stages", "voise"), "no stage 'voise'; did you mean: voice"),
        (("--condition", "noissy"), "no acoustic condition 'noissy'; did you mean: noisy"),
        (("--engines", "flight"), "flite"),
        (("--ears", "simulatd:a"), "no recogniser 'simulatd:a'; did you mean: simulated"),
    ],
)
def test_what_cannot_be_is_reported(
    toolmark: Command, words: tuple[str, ...], reported: str
) -> None:
    said = toolmark("perturb", "speech", TEXT, *words)
    assert said.code == 2 and reported in said.err


def test_files_that_are_none_are_reported(toolmark: Command, tmp_path: Path) -> None:
    said = toolmark("perturb", "speech", "gone.wav")
    assert said.code == 2 and "no such file" in said.err
    (tmp_path / "empty.txt").write_text("\n \n")
    said = toolmark("perturb", "speech", "empty.txt")
    assert said.code == 2 and "holds no text" in said.err
    (tmp_path / "file").touch()
    said = toolmark("perturb", "speech", TEXT, "-o", "file")
    assert said.code == 2 and "file: not a folder" in said.err
    (tmp_path / "bad.wav").write_bytes(b"RIFFjunk")
    said = toolmark("perturb", "speech", str(tmp_path / "bad.wav"), "--stages", "acoustics")
    assert (
        said.code == 3
        and "not a sound file" in said.out
        and "1 of 1 utterance not made" in said.err
    )


CLEAN = ("--engines", "flite", "--condition", "clean", "--seed", "4")


def test_one_bad_input_costs_the_others_nothing(toolmark: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.wav").write_bytes(b"RIFFjunk")
    said = toolmark("perturb", "speech", "Hello there", "bad.wav", "Please delete notes.txt",
                    *CLEAN, "-o", "made")  # fmt: skip
    assert said.code == 3, said.err
    lines = (tmp_path / "made" / "record.jsonl").read_text().splitlines()
    first, bad, last = map(json.loads, lines)
    assert "not a sound file" in bad["failed"] and "audio" not in bad
    assert "notes dot" in last["rewritten"], "a text may end as the name of a file does"
    assert first["audio"] and last["audio"] and "failed" not in last
    assert {path.name for path in (tmp_path / "made").glob("*.wav")} == {"0000.wav", "0002.wav"}


def test_a_text_is_heard_by_the_simulated_and_a_sound_by_a_real_recogniser(
    toolmark: Command, tmp_path: Path
) -> None:
    said = toolmark("perturb", "speech", "Turn the lights off", *CLEAN, "-o", "made")
    assert "simulated:a (simulated):" in said.out and "-o DIR keeps" not in said.out
    said = toolmark("perturb", "speech", "Turn the lights off", *CLEAN)
    assert "-o DIR keeps the sound" in said.out and "; \n" not in said.out
    own = tmp_path / "own.wav"
    shutil.copy(tmp_path / "made" / "0000.wav", own)
    [made] = json.loads(toolmark("perturb", "speech", "own.wav", *CLEAN, "--json").out)
    assert list(made["heard"]) == ["pocketsphinx"]
    assert made["heard"]["pocketsphinx"].get("wer") is None, "nobody knows what was said"
    said = toolmark("perturb", "speech", "own.wav", *CLEAN, "--ears", "simulated:a")
    assert said.code == 2 and "--text" in said.err and "own.txt" in said.err
    for more in (("--text", "Turn the lights off"), ()):
        [made] = json.loads(toolmark("perturb", "speech", "own.wav", *CLEAN, "--json", *more).out)
        assert (
            made["uttered"] == "Turn the lights off" and made["heard"]["pocketsphinx"]["wer"] >= 0
        )
        own.with_suffix(".txt").write_text("Turn the\nlights off\n")
    said = toolmark("perturb", "speech", "own.wav", "own.wav", "--text", "Turn the lights off")
    assert said.code == 2 and "one sound file" in said.err


def test_recordings_that_hold_no_utterance_are_refused(toolmark: Command, tmp_path: Path) -> None:
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal(16_000).astype("f4") * 0.1
    soundfile.write(tmp_path / "silent.wav", np.zeros(16_000), 16_000)
    soundfile.write(tmp_path / "short.wav", noise[:10], 16_000)
    soundfile.write(tmp_path / "long.wav", np.tile(noise, 61), 16_000)
    soundfile.write(tmp_path / "turned.wav", np.stack([noise, -noise], axis=1), 16_000)
    names = ("silent.wav", "short.wav", "long.wav", "turned.wav")
    said = toolmark("perturb", "speech", *names, "--stages", "acoustics", "--condition", "gain@2",
                    "--json")  # fmt: skip
    *bad, turned = json.loads(said.out)
    assert said.code == 3
    for made, why in zip(bad, ("silent", "too short", "more than 60 s"), strict=True):
        assert why in made["failed"]
    assert turned["audio"] and "failed" not in turned


def test_effects_are_listed_in_short_and_in_full(toolmark: Command) -> None:
    words = (
        "perturb",
        "speech",
        TEXT,
        "--engines",
        "flite",
        "--condition",
        "loss@3",
        "--seed",
        "4",
    )
    assert "acoustics: loss@3" in toolmark(*words).out
    full = toolmark(*words, "-v").out
    assert "severity 3, share" in full and "\n  gap: " in full
    assert not [line for line in full.splitlines() if line.rstrip().endswith(";")]


def test_an_endpoint_that_takes_no_sound_is_refused_before_anything_is_made(
    mind: Mind, toolmark: Command, tmp_path: Path
) -> None:
    mind.status = 400
    mind.body = {"error": {"message": "input_audio is not supported by this model"}}
    said = toolmark("run", "mfcl-speech", "-m", mind.model, "-T", "items=1", "-T",
                    "category=simple_python", "--log-dir", str(tmp_path / "runs"))  # fmt: skip
    assert said.code == 2
    assert "input_audio is not supported" in said.err and "mfcl-transcripts" in said.err
    assert len(mind.asked) == 1, "one beep was played, and no task"
    assert not list((tmp_path / "runs").glob("*"))
