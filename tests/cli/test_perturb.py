"""`toolmark perturb speech`: one stage or all, seeded, recorded, and clear about what cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.servers.mind import Command, Mind

pytestmark = pytest.mark.skipif(
    not shutil.which("flite"), reason="speech needs flite (sh setup.sh dev installs it)"
)
TEXT = "Find 3 hotels in Austin under $120"


def test_words_alone_need_no_voice(toolmark: Command) -> None:
    said = toolmark("perturb", "speech", TEXT, "--stages", "rewrite", "--seed", "4")
    assert said.code == 0
    assert "three hotels in Austin" in said.out and "dollars" in said.out
    assert "voice" not in said.out


def test_all_stages_are_kept_and_the_same_for_a_seed(toolmark: Command, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--stages", "voise"), "no stage 'voise'; did you mean: voice"),
        (("--condition", "noissy"), "no acoustic condition 'noissy'; did you mean: noisy"),
        (("--engines", "flight"), "flite"),
        (("--ears", "simulatd:a"), "no recogniser 'simulatd:a'; did you mean: simulated"),
    ],
)
def test_what_cannot_be_is_told(toolmark: Command, words: tuple[str, ...], told: str) -> None:
    said = toolmark("perturb", "speech", TEXT, *words)
    assert said.code == 2 and told in said.err


def test_files_that_are_none_are_told(toolmark: Command, tmp_path: Path) -> None:
    assert "no such file" in toolmark("perturb", "speech", "gone.wav").err
    (tmp_path / "bad.wav").write_bytes(b"RIFFjunk")
    said = toolmark("perturb", "speech", str(tmp_path / "bad.wav"), "--stages", "acoustics")
    assert said.code and "not a sound file" in said.err


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
