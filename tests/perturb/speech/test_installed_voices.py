"""The voices of this machine, and what is said where some of them lack."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from toolmark.core.errors import UsageError
from toolmark.perturb.speech import installed_voices
from toolmark.perturb.speech.engines import engine_registry
from toolmark.perturb.speech.voice import SYNTHETIC_SPEAKER, Voice


def test_a_voice_is_the_same_after_json() -> None:
    one = Voice(engine="flite", name="slt", speaker="slt", rate=0.9, pitch=0.4, version="2")
    assert msgspec.json.decode(msgspec.json.encode(one), type=Voice) == one
    assert hash(one) == hash(msgspec.structs.replace(one))


def test_an_unknown_engine_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no speech engine 'flight'; did you mean: flite"):
        installed_voices.available_voices(("flight",))


def test_the_default_pool_is_free_and_offline() -> None:
    found = installed_voices.available_voices(missing="skip")
    assert {one.engine for one in found} <= {*engine_registry.DEFAULT_ENGINES, "espeak-bundled"}
    assert all(one.version for one in found)
    assert len({(one.engine, one.name) for one in found}) == len(found)
    assert all(one.sex in ("female", "male") for one in found)


def test_lacking_engines_are_all_named_at_once_with_the_way_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError) as caught:
        installed_voices.available_voices()
    for word in ("espeak-ng", "flite", "festvox-us-slt-hts", "apt-get", "skip"):
        assert word in str(caught.value)


def test_without_any_command_the_python_package_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = installed_voices.available_voices(missing="skip")
    assert {one.engine for one in found} == {"espeak-bundled"}
    assert {one.speaker for one in found} == {SYNTHETIC_SPEAKER}


def test_no_voice_at_all_is_an_error_however_one_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for which in (("flite",), ("flite", "festival", "mbrola")):
        with pytest.raises(UsageError, match="voice"):
            installed_voices.available_voices(which, missing="skip")


def test_two_builds_of_a_person_are_one_speaker() -> None:
    try:
        found = installed_voices.available_voices(("flite", "festival"))
    except UsageError as error:
        pytest.skip(str(error))
    assert {one.speaker for one in found} == {"slt", "rms", "awb", "kal", "ked"}
    assert len(found) == 7


def test_listing_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    installed_voices.available_voices(missing="skip")
    assert not list(tmp_path.iterdir())
