"""The same utterances in every condition: stronger is harder, and nothing else changes."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import pairwise
from statistics import fmean

import pytest
from msgspec.structs import replace

from toolmark.perturb.hearing.recogniser import Transcript
from toolmark.perturb.hearing.simulated import simulated_recogniser
from toolmark.perturb.speech import (
    acoustic_settings,
    background_sounds,
    double_talk,
    synthetic_noise,
    voice_pool,
)
from toolmark.suites.mfcl_speech import speech_items, speech_task_maker
from toolmark.suites.mfcl_speech.speech_pipeline import (
    SpeechPipeline,
    SpeechRecipe,
    UtteranceJob,
)
from toolmark.suites.mfcl_speech.speech_task_data import Utterance

pytestmark = pytest.mark.skipif(
    not (shutil.which("flite") and shutil.which("espeak-ng")),
    reason="speech needs flite and espeak-ng (sh setup.sh dev installs them)",
)
LADDERS = {
    "noise": ("snr=40", "snr=30", "snr=20", "snr=10"),
    "talker": ("talker@1", "talker@2", "talker@3", "talker@4"),
    "loss": ("loss@1", "loss@2", "loss@3", "loss@4"),
    "room": ("room@1", "room@2", "room@3", "room@4"),
    "overdrive": ("overdrive@1", "overdrive@2", "overdrive@3", "overdrive@4"),
}
EARS = ("simulated:a", "simulated:b", "simulated:c")
UTTERANCES = 12
Noted = dict[str, list[Utterance]]


def jobs(*names: str, n: int = 0) -> list[UtteranceJob]:
    """Return what is to be said of n entries of each of these categories."""
    entries, _, _ = speech_items.read_entries(speech_items.select_categories(names), n, 0)
    tasks = speech_items.condition_tasks(entries, "mfcl-transcripts", ("noisy",))
    return [
        job for task in tasks for job in speech_task_maker._make_jobs(task, "noisy", EARS) if job
    ]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> SpeechPipeline:
    return SpeechPipeline(
        SpeechRecipe(seed=3, engines=("flite", "espeak-ng")), tmp_path_factory.mktemp("speech")
    )


@pytest.fixture(scope="module")
def reported(studio: SpeechPipeline) -> Noted:
    """Return the shortest requests as they are heard in every condition."""
    short = sorted(jobs("simple_python"), key=lambda job: (len(job.written), job.item))[:UTTERANCES]
    names = ("clean", *(step for steps in LADDERS.values() for step in steps))
    return {
        name: [studio.make_utterance(replace(job, condition=name)) for job in short]
        for name in names
    }


def stoi(heard: list[Utterance]) -> list[float]:
    """Return the scores; of what is too short for one there is none, and none here is."""
    assert all(each.stoi is not None for each in heard)
    return [each.stoi or 0.0 for each in heard]


@pytest.mark.long
def test_only_the_acoustics_differ(reported: Noted) -> None:
    for name, heard in reported.items():
        for one, clean in zip(heard, reported["clean"], strict=True):
            assert not one.failed
            assert (one.uttered, one.voice, one.changes) == (
                clean.uttered,
                clean.voice,
                clean.changes,
            )
            assert one.seconds == pytest.approx(clean.seconds), name
            assert bool(one.timeline) == (name != "clean")


@pytest.mark.long
def test_clean_speech_is_wholly_intelligible(reported: Noted) -> None:
    assert min(stoi(reported["clean"])) > 0.999


@pytest.mark.long
@pytest.mark.parametrize("name", LADDERS)
def test_what_is_stronger_is_less_intelligible(reported: Noted, name: str) -> None:
    steps = ("clean", *LADDERS[name])
    means = [fmean(stoi(reported[step])) for step in steps]
    print(name, *(f"{step} {mean:.3f}" for step, mean in zip(steps, means, strict=True)))
    assert means == sorted(means, reverse=True)
    assert means[-1] < means[0] - 0.02
    if name in ("noise", "talker", "overdrive"):  # nothing but the level differs: so of each one
        for one in zip(*(stoi(reported[step]) for step in steps), strict=True):
            assert all(after <= before + 0.01 for before, after in pairwise(one))


@pytest.mark.long
@pytest.mark.parametrize("name", LADDERS)
def test_simulated_recognisers_err_more_where_it_is_harder(reported: Noted, name: str) -> None:
    """Draws are those of the clean clip, so that an error more is the condition's doing."""
    steps = ("clean", *LADDERS[name])
    heard = [[each.heard[ear] for each in reported[step] for ear in EARS] for step in steps]
    rates = [fmean(each.wer for each in rows if each.wer is not None) for rows in heard]
    print(name, *(f"{step} {rate:.1%}" for step, rate in zip(steps, rates, strict=True)))
    slack = 0.015  # a word that is put in or lost can also right a row of wrong ones
    assert all(after >= before - slack for before, after in pairwise(rates))
    assert rates[-1] > rates[0]


def test_another_version_of_a_recogniser_hears_anew(
    studio: SpeechPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = UtteranceJob(
        item="x", turn=0, written="Book a table", condition="clean", recognisers=EARS[:1]
    )
    first = studio.make_utterance(job)
    other = Transcript(text="cook a cable", recogniser=EARS[0], simulated=True)
    monkeypatch.setattr(
        simulated_recogniser.SimulatedRecogniser, "hear", lambda self, clip, context: other
    )
    assert studio.make_utterance(job) == first, "what is kept is not heard again"
    monkeypatch.setattr(simulated_recogniser.SimulatedRecogniser, "version", "another")
    assert studio.make_utterance(job).heard[EARS[0]].text == other.text


@pytest.mark.parametrize("name", ["noise", "talker"])
def test_steps_differ_in_strength_alone(studio: SpeechPipeline, name: str) -> None:
    for job in jobs("live_parallel"):
        drawn = [
            studio.draw_settings(replace(job, condition=step)).stages for step in LADDERS[name]
        ]
        ratios = [float(stage.values["snr_db"]) for [stage] in drawn]
        assert ratios == sorted(ratios, reverse=True)
        assert len({repr(_bare(stage)) for [stage] in drawn}) == 1


def _bare(stage: acoustic_settings.AcousticStage) -> acoustic_settings.AcousticStage:
    values = {key: value for key, value in stage.values.items() if key != "snr_db"}
    return replace(stage, severity=0, values=values)


def test_draws_are_spread_over_features_voices_and_ratios(studio: SpeechPipeline) -> None:
    asked = jobs("expert", "community", n=62)
    assert len(asked) >= 400
    features: Counter[str] = Counter()
    for job in asked:
        rewritten, said, *_ = studio.word_request(job)
        features.update(c.feature for c in said.changes[len(rewritten.changes) :])
    voices = [studio.choose_voice(job) for job in asked]
    stages = [stage for job in asked for stage in studio.draw_settings(job).stages]
    print(f"{len(asked)} entries\nfeatures {dict(features.most_common())}")
    for row in voice_pool.voice_balance(voices):
        print(f"{row.factor} {row.level}: {row.draws} ({row.share:.0%}), {row.voices} voices")
    speakers = [row.share for row in voice_pool.voice_balance(voices) if row.factor == "speaker"]
    assert len(features) >= 14 and max(features.values()) < 0.25 * features.total()
    assert max(speakers) < 1.5 / len(speakers), "a voice dominates"
    for name, ranges in (
        ("bed", background_sounds.BED_SNR_DB),
        ("talker", double_talk.TALK_SNR_DB),
    ):
        ratios = [float(stage.values["snr_db"]) for stage in stages if stage.name == name]
        bins = Counter(int(ratio // 3) * 3 for ratio in ratios)
        print(f"{name}, dB from: {dict(sorted(bins.items()))}")
        assert len(ratios) == len(asked)
        assert ranges[3][0] <= min(ratios) and max(ratios) <= ranges[1][1]
        assert {stage.severity for stage in stages if stage.name == name} == {1, 2, 3}
    beds = Counter(stage.values["noise"] for stage in stages if stage.name == "bed")
    print(f"beds {dict(beds.most_common())}")
    assert set(beds) == {*synthetic_noise.BED_NOISES, "babble"}
    assert max(beds.values()) < 2 * len(asked) / len(beds)
