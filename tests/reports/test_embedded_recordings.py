"""Recordings on the page: players, waveforms, bounds, and bytes that are not sound."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from playwright.sync_api import Browser
from tests.reports.made_runs import Maker, presented
from tests.reports.page_reader import read_page
from tests.servers.chromium import Watch

from toolmark.core.media import MediaStore
from toolmark.core.records import Audio, Drawing, Message, Part, Result, Text
from toolmark.reports import embedded_recordings, episode_block, html_report
from toolmark.reports.episode_block import EpisodeBlock
from toolmark.reports.episode_selection import EpisodeSelection, sampling_rank
from toolmark.runs import run_finalization
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Scorer
from toolmark.scoring.episode import Episode


def wav(samples: Any, rate: int = 16_000, channels: int = 1, bits: int = 16) -> bytes:
    pcm = np.asarray(samples).astype(f"<i{bits // 8}" if bits > 8 else "u1").tobytes()
    width = channels * bits // 8
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(pcm), b"WAVE", b"fmt ", 16, 1,
                       channels, rate, rate * width, width, bits, b"data", len(pcm))  # fmt: skip
    return head + pcm


def tone(seconds: float, rate: int = 16_000, loud: float = 0.5) -> bytes:
    t = np.arange(round(seconds * rate)) / rate
    return wav(32767 * loud * np.sin(2 * np.pi * 220 * t) * np.minimum(1, 3 * t), rate)


TONE = tone(1.5)


def test_a_waveform_holds_every_peak_in_its_column() -> None:
    samples = np.zeros(10_000, dtype=int)
    samples[[0, 4_999, 9_999]] = 8_192, -16_384, 32_767
    found = embedded_recordings.read_waveform(wav(samples), columns=100)
    assert found is not None and found.peaks.shape == (100, 2)
    assert (found.peaks[0, 1], found.peaks[49, 0], found.peaks[99, 1]) == (
        0.25,
        -0.5,
        32767 / 32768,
    )
    assert np.count_nonzero(found.peaks) == 3
    assert (found.seconds, found.rate, found.channels) == (0.625, 16_000, 1)


@pytest.mark.parametrize("frames", [1, 2, 319, 320, 321, 50_000])
@pytest.mark.parametrize("channels", [1, 2, 7])
def test_any_length_and_number_of_channels_is_drawn(frames: int, channels: int) -> None:
    found = embedded_recordings.read_waveform(
        wav([1000, -1000] * (frames * channels // 2 + 1), channels=channels)
    )
    assert found is not None and found.channels == channels
    assert len(found.peaks) <= embedded_recordings.WAVEFORM_WIDTH // 2
    root = ElementTree.fromstring(embedded_recordings.draw_waveform(found))
    assert root.get("width") == str(embedded_recordings.WAVEFORM_WIDTH)


@given(st.binary(max_size=300), st.integers(0, 60), st.integers(0, 2**32 - 1))
@example(b"", 22, 0).via("no channels")
@example(b"", 24, 0).via("no rate")
@example(b"", 4, 2**32 - 1).via("streaming sizes")
def test_bytes_that_are_no_sound_never_raise(junk: bytes, at: int, word: int) -> None:
    torn = bytearray(TONE[:400])
    torn[at : at + 4] = struct.pack("<I", word)
    for data in (junk, TONE[:at] + junk, bytes(torn), TONE[: at * 9]):
        found = embedded_recordings.read_waveform(data)
        if found is not None:
            assert np.isfinite(found.peaks).all() and math.isfinite(found.seconds)
            ElementTree.fromstring(embedded_recordings.draw_waveform(found))


@pytest.mark.parametrize("bits", [8, 32])
def test_other_widths_have_no_waveform(bits: int) -> None:
    assert embedded_recordings.read_waveform(wav([1] * 400, bits=bits)) is None


def test_silence_is_flat_and_says_so(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    (made,) = embedded_recordings.embed_recordings(
        [store.add_audio(wav([0] * 16_000), "audio/wav")], store
    )
    assert "1 s, 16 kHz, silent" in made["description"] and made["svg"] and made["sound"]


def test_recordings_play_unless_missing_unplayable_or_over_the_budget(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    clip = store.add_audio(TONE, "audio/wav")
    junk = store.add_audio(b"\x00junk<script>", "audio/wav")
    mp3 = store.add_audio(b"ID3 of some kind", "audio/mpeg")
    page_ = store.add_audio(b"<script>alert(1)</script>", "text/html")
    lost = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=4)
    outside = Audio(sha256="../../../etc/passwd", mime="audio/wav", size_bytes=4)
    parts: list[Part] = [Text(text="hear"), clip, junk, mp3, page_, lost, outside]
    made = list(embedded_recordings.embed_recordings(parts, store))
    collected = base64.b64encode(TONE).decode()
    assert made[0]["sound"] == f"data:audio/wav;base64,{collected}" and made[0]["svg"]
    assert made[0]["seconds"] == 1.5
    assert all(each["sound"] and not each["svg"] for each in made[1:3])
    assert not any("sound" in each or each["svg"] for each in made[3:])
    assert "plays no text/html" in made[3]["description"]
    assert all("not in the run folder" in each["description"] for each in made[4:])
    first, second = embedded_recordings.embed_recordings(
        [clip, clip], store, len(made[0]["sound"]) + 10
    )
    assert "sound" in first and "sound" not in second and second["svg"] == first["svg"]
    assert f"media/{clip.sha256[:2]}/{clip.sha256}" in second["description"]


def test_an_episode_of_many_recordings_stays_within_its_room(make_run: Maker) -> None:
    found = make_run(n=1)
    store = MediaStore(found.path / "media")
    clips = [store.add_audio(tone(4, loud=0.1 + 0.05 * i), "audio/wav") for i in range(12)]
    task, (only,) = next(found.tasks()), found.trajectories()
    step = replace(only.steps[0], new_messages=(Message(role="user", parts=tuple(clips)),))
    block = episode_block.completed_block(
        0, task, replace(only, steps=(step,)), {}, (clips[0],), store
    )
    assert len(block.details) <= episode_block.MAX_EPISODE_BYTES and "cut" not in json.loads(
        block.details
    )
    sounds = json.loads(block.details)["steps"][0]["new_messages"][0]["sounds"]
    played = [each for each in sounds if "sound" in each]
    assert 0 < len(played) < 12 == len(sounds) and sounds[: len(played)] == played
    assert all(each["sound"][1:] in block.sounds for each in played)
    assert sum(map(len, block.sounds.values())) <= embedded_recordings.MAX_EPISODE_BYTES
    quiet = json.loads(block.details_without_recordings)["steps"][0]["new_messages"][0]["sounds"]
    assert not any("sound" in each for each in quiet)
    assert [bool(each["svg"]) for each in quiet] == [False] + 11 * [True], "the first stands above"
    assert "sound" not in json.loads(block.without_recordings().details)["views"][0]["sounds"][0]
    assert (
        not block.without_recordings().sounds
        and block.without_recordings().pictures == block.pictures
    )


def test_what_episodes_share_stands_on_a_page_once(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    def views(episode: Episode) -> list[Any]:
        heard = next(
            p for p in episode.trajectory.steps[0].new_messages[0].parts if isinstance(p, Audio)
        )
        assert found is not None
        return [heard, Drawing(title="same", svg=embedded_recordings.draw_waveform(found))]

    found = embedded_recordings.read_waveform(TONE)
    run = audible(make_run(n=9), scorer, alike=True)
    path = html_report.write_report([presented(run, _with(scorer, views))], tmp_path / "r.html")
    blocks = read_page(path).blocks
    sounds = {name: data for name, data in blocks.items() if name.startswith("sound-")}
    drawings = {name: data for name, data in blocks.items() if name.startswith("svg-")}
    assert all(data.startswith("data:audio/wav;base64,UklGR") for data in sounds.values())
    assert len(sounds) == 2, "the tone and the broken one"
    assert len(drawings) == 2 and all(data.startswith("<svg") for data in drawings.values())
    named = re.findall(r'"#((?:sound|svg)-[0-9a-f]{16})"', json.dumps(blocks))
    assert {*named} == {*sounds, *drawings}


def test_a_selection_counts_what_blocks_share_once_until_the_last_has_gone() -> None:
    rack = EpisodeSelection(100_000)
    for i in range(10):
        rack.offer_episode(
            (0, f"{i}", 0),
            lambda i=i: EpisodeBlock(
                list_entry=b"",
                details=b"x" * 936,
                details_without_recordings=b"y" * 136,  # type: ignore[misc]
                pictures={"d": b"d" * 936},
                sounds={f"s{i // 5}": b"s" * 4936},
            ),
        )
    assert (rack.size_bytes, rack.sound_bytes) == (10 * 1000 + 1000 + 2 * 5000, 10_000)
    rack.drop_recordings(5_000)
    assert rack.sound_bytes in (0, 5_000) and rack.n_without_recordings >= 5
    rack.drop_recordings(0)
    assert rack.size_bytes == 10 * 200 + 1000
    rack.shrink_to(0)
    assert rack.size_bytes == 0


def noisy(name: str, size: int = 1000, quiet: int = 200) -> EpisodeBlock:
    """Make an episode of 200 bytes with 800 of sound of its own."""
    sounds = {name: b"x" * (size - quiet - 64)}
    return EpisodeBlock(
        list_entry=b"",
        details=b"x" * (quiet - 64),
        details_without_recordings=b"y" * (quiet - 64),
        sounds=sounds,
    )


def test_a_full_selection_drops_recordings_of_the_highest_ranks_before_episodes() -> None:
    keys = [(0, f"task-{i}", 0) for i in range(40)]
    chosen = []
    for order in (keys, keys[::-1]):
        rack = EpisodeSelection(20_000)
        for key in order:
            rack.offer_episode(key, lambda key=key: noisy(key[1]))  # type: ignore[misc]
        assert rack.n_selected == 40 and rack.size_bytes <= 20_000
        assert 0 < rack.n_without_recordings < 40
        loud = [
            key
            for key, block in zip(order, rack.blocks(), strict=True)
            if block.details_without_recordings
        ]
        assert len(loud) == 40 - rack.n_without_recordings
        chosen.append(set(loud))
    by_sound = sorted(keys, key=lambda key: sampling_rank((0, key[1], 0)))
    assert chosen[0] == chosen[1] == set(by_sound[: len(chosen[0])])


def test_episodes_of_one_recording_keep_it_together() -> None:
    rack = EpisodeSelection(100_000, 5_000)
    for i in range(60):
        rack.offer_episode((0, f"{i}", 0), lambda i=i: noisy(f"of {i % 20}"))  # type: ignore[misc]
    loud = [next(iter(block.sounds)) for block in rack.blocks() if block.sounds]
    assert len(loud) == 3 * len(set(loud)) == 3 * (5_000 // 800)


def test_recordings_stay_while_everything_fits() -> None:
    rack = EpisodeSelection(41_000)
    for i in range(40):
        rack.offer_episode((0, f"task-{i}", 0), lambda i=i: noisy(f"{i}"))  # type: ignore[misc]
    assert (rack.n_selected, rack.n_without_recordings) == (40, 0)
    rack.shrink_to(4_000)
    assert rack.size_bytes <= 4_000 and 4 <= rack.n_selected < 40
    assert rack.sound_bytes <= 2_000


# --- the page ---------------------------------------------------------------------------


def audible(run: Run, scorer: Scorer, *, alike: bool = False) -> Run:
    """Give every episode a recording in its first message, a broken file beside it."""
    store = MediaStore(run.path / "media")
    junk = store.add_audio(b"RIFF\xff\xff\xff\xffWAVEjunk", "audio/wav")
    lines = list(run.trajectories())
    (run.path / "trajectories.jsonl").unlink()
    out = RecordAppender(run.path / "trajectories.jsonl")
    for i, each in enumerate(lines):
        clip = store.add_audio(tone(2.4, loud=0.2 + (0 if alike else i / 1000)), "audio/wav")
        said = Message(role="user", parts=(clip, junk))
        result = (Result(parts=(clip,)), *each.steps[0].results[1:])
        step = replace(
            each.steps[0], new_messages=(said,), results=result[: len(each.steps[0].results)]
        )
        out.append(replace(each, steps=(step, *each.steps[1:])))
    out.close()
    run_finalization.rescore_run(run, scorer)
    return Run(run.path)


def recordings(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Go through the recordings of an episode's messages, as the page has them."""
    for step in body["steps"]:
        for said in step["new_messages"]:
            yield from said.get("sounds", ())


def test_a_page_of_recordings_is_bounded_and_says_what_it_left_out(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    run = audible(make_run(n=60), scorer)
    path = html_report.write_report([run], tmp_path / "r.html", limit_bytes=3_000_000)
    found = read_page(path)
    assert path.stat().st_size < 3_000_000
    assert len(found.blocks["index"]) == 60
    bodies = [found.blocks[f"e{i}"] for i in range(60)]
    heard = [any("sound" in made for made in recordings(body)) for body in bodies]
    assert 0 < sum(heard) < 60
    assert f"{sum(heard)} of 60 episodes" in found.section("shown").text
    assert all("sound" in made or made["file"] for body in bodies for made in recordings(body))


def test_recordings_of_failures_come_first_up_to_the_budget_and_the_rest_is_linked(
    make_run: Maker, scorer: Scorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = audible(make_run(n=60), scorer)
    monkeypatch.setattr(html_report, "MAX_RECORDINGS_BYTES", 2_000_000)
    path = html_report.write_report([run], tmp_path / "r.html")
    blocks = read_page(path).blocks
    heard = dict.fromkeys(("correct", "incorrect"), 0)
    quiet = dict(heard)
    files = set()
    for i, line in enumerate(blocks["index"]):
        made = list(recordings(blocks[f"e{i}"]))
        outcome = next(iter(line["outcome"].values()))
        (heard if any("sound" in each for each in made) else quiet)[outcome] += 1
        files |= {each["file"] for each in made}
    assert heard["incorrect"] > 0 and (heard["correct"] == 0 or quiet["incorrect"] == 0)
    sounds = [data for name, data in blocks.items() if name.startswith("sound-")]
    assert 0 < sum(map(len, sounds)) <= 2_000_000
    assert files and all((tmp_path / unquote(file)).is_file() for file in files)
    assert not any("#" in file or ":" in file for file in files)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_players_and_waveforms_and_plays(
    scheme: Any, browser: Browser, make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    def views(episode: Episode) -> list[Audio]:
        return [
            next(
                p for p in episode.trajectory.steps[0].new_messages[0].parts if isinstance(p, Audio)
            )
        ]

    run = audible(make_run(n=3), scorer)
    shown = html_report.write_report(
        [presented(run, _with(scorer, views))], tmp_path / "report.html"
    )
    watch = Watch()
    tab = browser.new_page(color_scheme=scheme)
    tab.on("pageerror", lambda error: watch.errors.append(str(error)))
    tab.on("console", lambda message: watch.errors.append(message.text))
    tab.goto(shown.as_uri())
    tab.locator("#rows button").first.click()
    own = tab.locator("#detail .view .sound")
    assert own.count() == 1 and "2.4 s, 16 kHz" in own.inner_text()
    said = tab.locator("#detail .step").first.locator(".sound")
    assert said.locator("audio").count() >= 2, "the sound and the broken one"
    assert own.locator("svg path.w").count() == 1
    assert own.locator("audio").get_attribute("preload") == "none"
    box = own.locator(".wave").bounding_box()
    assert box is not None and box["width"] > 200 and box["height"] > 40
    length = own.locator("audio").evaluate(
        "a => new Promise((yes, no) => { a.onloadedmetadata = () => yes(a.duration);"
        " a.onerror = () => no(a.error.message); a.load(); a.preload = 'auto'; })"
    )
    assert math.isclose(length, 2.4, abs_tol=0.01)
    own.locator(".wave").click(position={"x": box["width"] / 2, "y": 20})
    at = own.locator("audio").evaluate("a => a.currentTime")
    assert 0.9 < at < 2.4
    assert watch.errors == []
    tab.close()


def _with(scorer: Scorer, views: Any) -> Scorer:
    return dataclasses.replace(
        scorer, presentation=dataclasses.replace(scorer.presentation, views=views)
    )
