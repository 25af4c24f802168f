"""The engines themselves: bounded calls, names that lead nowhere, and a real HTTP server."""

from __future__ import annotations

import io
import json
import os
import shutil
import threading
import time
import wave
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolmark.core import external_commands
from toolmark.core.errors import (
    DataError,
    RateLimited,
    Rejected,
    Timeout,
    TornReply,
    Unavailable,
    UsageError,
)
from toolmark.perturb.speech.audio_clip import decode_clip
from toolmark.perturb.speech.engines import (
    engine_registry,
    espeak,
    festival,
    flite,
    mbrola,
    speech_server,
)
from toolmark.perturb.speech.voice import Voice

KEY = "sk-very-secret-0123456789"


def _voices(name: str) -> list[Voice]:
    try:
        return engine_registry.load_engine(name).voices()
    except external_commands.NotInstalled as error:
        pytest.skip(str(error))


# --- one bounded call ---------------------------------------------------------------------


def test_what_outlives_its_time_is_killed_with_all_it_started(tmp_path: Path) -> None:
    script = "sleep 300 & echo $! > pids; echo $$ >> pids; wait"
    with pytest.raises(DataError, match=r"^sh: .*0\.5 s"):
        external_commands.run_command(["sh", "-c", script], tmp_path, timeout_s=0.5)
    for pid in (tmp_path / "pids").read_text().split():
        for _ in range(100):
            if not _alive(int(pid)):
                break
            time.sleep(0.05)
        assert not _alive(int(pid))


def _alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_call_sees_no_key_and_the_home_of_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMARK_SPEECH_KEY", KEY)
    said = external_commands.run_command(["env"], tmp_path)
    assert KEY not in said
    assert f"HOME={tmp_path}" in said.splitlines()


def test_text_reaches_the_command_as_data(tmp_path: Path) -> None:
    assert external_commands.run_command(["cat"], tmp_path, "-v; $(touch x)") == "-v; $(touch x)\n"
    assert not (tmp_path / "x").exists()


def test_a_file_beyond_the_limit_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_commands, "MAX_OUTPUT_BYTES", 2**20)
    script = "sleep 0.3; head -c 4000000 /dev/zero > out.wav"
    with pytest.raises(DataError):
        external_commands.run_command(["sh", "-c", script], tmp_path)
    assert (tmp_path / "out.wav").stat().st_size <= 2**20
    with pytest.raises(DataError, match="more than"):
        external_commands.read_output_file(tmp_path / "out.wav")


def test_what_a_command_prints_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = external_commands.run_command(
        ["sh", "-c", "head -c 4000000 /dev/zero | tr '\\0' x"], tmp_path
    )
    assert 0 < len(printed) <= 2**16
    monkeypatch.setattr(external_commands, "MAX_OUTPUT_BYTES", 2**20)
    with pytest.raises(DataError):
        external_commands.run_command(
            ["sh", "-c", "sleep 0.3; exec head -c 4000000 /dev/zero"], tmp_path
        )


def test_a_failure_tells_status_and_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^sh: .*\b3: no such luck"):
        external_commands.run_command(["sh", "-c", "echo no such luck >&2; exit 3"], tmp_path)
    with pytest.raises(DataError, match="wrote no sound"):
        external_commands.read_output_file(tmp_path / "out.wav")


# --- what is installed, and what a voice may be called ------------------------------------


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("espeak-ng", "espeak-ng"),
        ("flite", "flite"),
        ("festival", "festvox-kallpc16k"),
        ("mbrola", "mbrola-us1"),
        ("piper", "piper-tts"),
        ("cloud", "TOOLMARK_SPEECH_URL"),
    ],
)
def test_an_engine_that_lacks_names_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("TOOLMARK_SPEECH_URL", raising=False)
    with pytest.raises(external_commands.NotInstalled, match=package):
        engine_registry.load_engine(name).voices()


@pytest.mark.parametrize("engine", ["espeak-ng", "espeak-bundled", "flite", "festival"])
@pytest.mark.parametrize(
    "name",
    [
        "",
        "-w",
        "../../../../etc/passwd",
        "en-us+../../../x",
        "mb-us1",
        'kal_diphone) (system "touch pwned")',
        "http://127.0.0.1:9/voice.flitevox",
        "/tmp/voice.flitevox",
    ],
)
def test_a_voice_is_one_of_a_list_never_a_path_or_code(
    engine: str, name: str, tmp_path: Path
) -> None:
    voice = _voices(engine)[0]
    with pytest.raises(DataError, match="has no voice"):
        engine_registry.load_engine(engine).synthesize_text(
            "hello", msgspec.structs.replace(voice, name=name), tmp_path
        )
    assert not list(tmp_path.iterdir())


def test_words_are_never_scheme(tmp_path: Path) -> None:
    voice = _voices("festival")[-1]
    marker = tmp_path / "pwned"
    words = f'") (system "touch {marker}") (quit) ("'
    attack = decode_clip(festival.synthesize_text(words, voice, _fresh(tmp_path, "a")))
    plain = decode_clip(
        festival.synthesize_text("system touch and quit", voice, _fresh(tmp_path, "b"))
    )
    assert not marker.exists()
    assert attack.seconds > plain.seconds  # read out, path and all


def _fresh(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


@pytest.mark.parametrize("engine", ["espeak-ng", "espeak-bundled", "flite", "festival"])
def test_pitch_moves_where_an_engine_says_it_can(engine: str, tmp_path: Path) -> None:
    speaker = engine_registry.load_engine(engine)
    for i, voice in enumerate(_voices(engine)[:5]):
        low, high = (
            speaker.synthesize_text(
                "good morning", msgspec.structs.replace(voice, pitch=pitch), folder
            )
            for pitch, folder in (
                (0.3, _fresh(tmp_path, f"{i}l")),
                (0.7, _fresh(tmp_path, f"{i}h")),
            )
        )
        assert (low != high) == speaker.can_set_pitch(voice.name)


def test_espeak_lists_neither_relays_nor_robots() -> None:
    names = {voice.name for voice in _voices("espeak-ng")}
    assert len(names) == len(_voices("espeak-ng"))
    assert {name.partition("+")[0] for name in names} == set(espeak.accents())
    kinds = {name.partition("+")[2] for name in names}
    assert len(kinds) > 50
    assert not {kind for kind in kinds if "robo" in kind.lower() or "whisper" in kind}
    assert not {name for name in names if name.startswith("mb")}


def test_mbrola_speaks_or_says_what_it_wants(tmp_path: Path) -> None:
    try:
        voices = mbrola.voices()
    except external_commands.NotInstalled as error:
        assert "non-free" in str(error)
        return
    assert decode_clip(mbrola.synthesize_text("hello", voices[0], tmp_path)).seconds > 0.2


# --- Piper: what a command is given (no voice file is published with the project) -------------


@pytest.fixture
def piper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a scripted `piper` that keeps what it was given."""
    sound = tmp_path / "sound.wav"
    sound.write_bytes(_wav())
    command = tmp_path / "piper"
    command.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\ncat > {tmp_path}/text\n'
        f"cp {sound} out.wav\n"
    )
    command.chmod(0o755)
    models = tmp_path / "models"
    models.mkdir()
    for name in ("en_GB-alan-low", "en_US-amy-medium", "de_DE-eva-low"):
        (models / f"{name}.onnx").write_bytes(name.encode())
        (models / f"{name}.onnx.json").write_text("{}")
    (models / "en_US-torn-low.onnx").write_bytes(b"no settings beside it")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("TOOLMARK_PIPER_VOICES", str(models))
    return tmp_path


def _wav() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(22050)
        file.writeframes(b"\0\x20\0\xe0" * 11025)
    return buffer.getvalue()


def test_piper_gets_a_file_of_its_folder_and_no_noise(piper: Path) -> None:
    voices = _voices("piper")
    assert [voice.name for voice in voices] == ["en_GB-alan-low", "en_US-amy-medium"]
    assert [voice.accent for voice in voices] == ["en_GB", "en_US"]
    slow = msgspec.structs.replace(voices[1], rate=0.8)
    out = engine_registry.load_engine("piper").synthesize_text(
        "-h there", slow, _fresh(piper, "out")
    )
    assert decode_clip(out).rate == 22050
    given = (piper / "given").read_text().split("\n")
    assert given[given.index("-m") + 1] == str(piper / "models" / "en_US-amy-medium.onnx")
    assert given[given.index("--length_scale") + 1] == "1.2500"
    assert given[given.index("--noise_scale") + 1] == given[given.index("--noise_w") + 1] == "0"
    assert (piper / "text").read_text() == "-h there\n"
    with pytest.raises(DataError, match="no voice"):
        engine_registry.load_engine("piper").synthesize_text(
            "x", msgspec.structs.replace(slow, name="../models/de_DE-eva-low"), piper
        )


def test_a_changed_voice_file_is_another_version(piper: Path) -> None:
    before = engine_registry.load_engine("piper").version()
    (piper / "models" / "en_GB-alan-low.onnx").write_bytes(b"trained anew")
    assert engine_registry.load_engine("piper").version() != before


# --- a server ------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    status, body, heads, wait_s = 200, b"", {}, 0.0  # type: ignore[var-annotated]
    asked: list[tuple[str, dict[str, str], Any]]

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), json.loads(body)))
        time.sleep(self.server.wait_s)
        self.send_response(self.server.status)
        heads = {"Content-Length": str(len(self.server.body))} | self.server.heads
        for name, value in heads.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.body)

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    found = _Server(("127.0.0.1", 0), _Handler)
    found.asked = []
    found.body = _wav()
    threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("TOOLMARK_SPEECH_URL", f"http://127.0.0.1:{found.server_port}/v1/")
    monkeypatch.setenv("TOOLMARK_SPEECH_MODEL", "say-1")
    monkeypatch.setenv("TOOLMARK_SPEECH_VOICES", "ash, coral")
    monkeypatch.setenv("TOOLMARK_SPEECH_KEY", KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(speech_server, "N_TRIES", 1)
    yield found
    found.shutdown()
    found.server_close()


def _speak(tmp_path: Path) -> bytes:
    voice = msgspec.structs.replace(speech_server.voices()[1], rate=1.1)
    return speech_server.synthesize_text("hello", voice, tmp_path)


def test_a_server_is_asked_in_openais_words(server: _Server, tmp_path: Path) -> None:
    assert _speak(tmp_path) == server.body
    path, heads, body = server.asked[0]
    assert path == "/v1/audio/speech"
    assert heads["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "say-1", "voice": "coral", "input": "hello", "response_format": "wav",
        "speed": 1.1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Rejected), (404, Rejected), (400, Rejected), (429, RateLimited), (500, Unavailable)],
)
def test_a_refusal_is_named_and_the_key_is_not(
    status: int, kind: type[Exception], server: _Server, tmp_path: Path
) -> None:
    server.status, server.body = status, f"bad key {KEY}".encode()
    server.heads = {"Retry-After": "7"}
    with pytest.raises(kind, match=f"HTTP status {status}") as caught:
        _speak(tmp_path)
    assert KEY not in str(caught.value)
    if isinstance(caught.value, RateLimited):
        assert caught.value.wait_s == 7


def test_a_server_that_is_busy_is_asked_again(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech_server, "N_TRIES", 3)
    server.status, server.heads = 503, {"Retry-After": "0"}
    with pytest.raises(Unavailable):
        _speak(tmp_path)
    assert len(server.asked) == 3


def test_the_key_follows_no_redirect(server: _Server, tmp_path: Path) -> None:
    server.status = 302
    server.heads = {"Location": f"http://localhost:{server.server_port}/elsewhere"}
    with pytest.raises(Rejected, match="302"):
        _speak(tmp_path)
    assert len(server.asked) == 1


def test_a_torn_body_is_no_clip(server: _Server, tmp_path: Path) -> None:
    server.heads = {"Content-Length": str(len(server.body) + 1000)}
    with pytest.raises(TornReply):
        _speak(tmp_path)


def test_a_body_without_end_and_a_server_that_sleeps_are_left(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech_server, "MAX_BYTES", 1000)
    with pytest.raises(TornReply, match="longer than 1000 bytes"):
        _speak(tmp_path)
    monkeypatch.setattr(speech_server, "TIMEOUT_S", 0.2)
    server.wait_s = 1.0
    with pytest.raises(Timeout):
        _speak(tmp_path)


def test_nobody_at_home_is_unavailable(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMARK_SPEECH_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(Unavailable):
        _speak(tmp_path)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y", "x", "http://u:p@x/", "http://a b/", "http://"]
)
def test_only_plain_web_addresses_are_asked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_SPEECH_URL", url)
    with pytest.raises(UsageError, match="TOOLMARK_SPEECH_URL"):
        speech_server.version()


def test_a_number_in_the_address_is_asked_and_not_named(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = "0123456789abcdef0123456789abcdef"
    monkeypatch.setenv("TOOLMARK_SPEECH_URL", f"http://127.0.0.1:{server.server_port}/{number}")
    assert _speak(tmp_path) == server.body
    assert server.asked[-1][0] == f"/{number}/audio/speech"
    server.status = 404
    with pytest.raises(Rejected) as caught:
        _speak(tmp_path)
    assert number not in str(caught.value) and "[key-" in str(caught.value)


def test_a_key_that_no_head_can_carry_is_not_shown(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMARK_SPEECH_KEY", f"{KEY}\nX-Other: 1")
    with pytest.raises(UsageError) as caught:
        _speak(tmp_path)
    assert KEY not in str(caught.value) and "TOOLMARK_SPEECH_KEY" in str(caught.value)
    assert not server.asked


@pytest.mark.skipif(not shutil.which("espeak-ng"), reason="needs espeak-ng")
def test_espeak_looks_for_no_sound_server(tmp_path: Path) -> None:
    """A server's client would leave folders and use up random numbers that make the breath."""
    voice = next(one for one in espeak.voices() if one.name == "en-us+f3")
    espeak.synthesize_text("hello there", voice, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out.wav"]


def test_flite_knows_its_pitches() -> None:
    assert shutil.which("flite") is None or flite.version() != "unknown"
    assert not flite.can_set_pitch("rms")
    assert not flite.can_set_pitch("no such voice")
