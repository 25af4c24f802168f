"""The example of docs/suites/mfcl-speech.md, own requests in own recordings, works."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

import toolmark as tm
from toolmark.core.media import MediaStore
from toolmark.core.records import Audio
from toolmark.perturb.speech import audio_clip
from toolmark.suites.mfcl_speech import speech_pipeline, speech_task_maker

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("flite", "espeak-ng", "festival"))), reason="speech needs voices"
)
PAGE = Path(__file__).parents[3] / "docs/suites/mfcl-speech.md"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "house.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "house", raising=False)
    monkeypatch.setattr(
        speech_pipeline.SpeechPipeline, "default_folder", staticmethod(lambda: tmp_path / "speech")
    )
    speech_task_maker.load_pipeline.cache_clear()
    return tmp_path


@pytest.mark.slow
def test_own_requests_are_spoken_asked_and_scored(house: Path) -> None:
    suite = tm.load("house:load", conditions="text,clean,snr=20", seed=7)
    run = tm.run(suite, "control/oracle", log_dir=house / "runs")
    summary = run.summary()
    assert (summary["n_run"], summary["n_not_run"], summary["score"]["value"]) == (9, 0, 1)
    tasks = {task.id: task for task in run.tasks()}
    [part] = tasks["house-1@clean"].turns[0].messages[-1].parts
    assert isinstance(part, Audio)
    assert audio_clip.decode_clip(MediaStore(run.path / "media").read(part)).seconds > 1
    assert tasks["house-1@clean"].data["whitelist"] == [{"room": "kitchen", "level": 40}]
    null = tm.run(suite, "control/always-call", log_dir=house / "runs")
    assert null.summary()["score"]["value"] < 1


@pytest.mark.slow
def test_a_recording_of_ones_own_is_what_is_said(house: Path) -> None:
    one = speech_pipeline.SpeechPipeline(speech_pipeline.SpeechRecipe(seed=1, engines=("flite",)))
    job = speech_pipeline.UtteranceJob(
        item="x", turn=0, written="Set the kitchen lights to 40 percent", condition="clean"
    )
    audio = one.make_utterance(job).audio
    assert audio is not None
    (house / "recordings").mkdir()
    (house / "recordings" / "house-1.wav").write_bytes(one.media.read(audio))
    suite = tm.load("house:load", conditions="clean,snr=10", seed=7)
    tasks = {task.id: task for task in suite.maker.make(suite)}
    assert tasks["house-1@clean"].turns[0].messages[-1].parts == (audio,)
    assert tasks["house-1@snr=10"].turns[0].messages[-1].parts != (audio,)
    [turn] = tasks["house-1@snr=10"].data["speech"]["turns"]
    assert turn["uttered"].startswith("Set the kitchen") and turn["timeline"][0]["name"] == "bed"
    assert tasks["house-2@clean"].data["speech"]["turns"][0]["voice"]
