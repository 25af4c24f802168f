"""Pinned environments: what the locks promise, and how they are made."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from toolmark.core.errors import DataError, UsageError
from toolmark.environments.mcp import server_config, server_packages
from toolmark.suites.m3.local import server_configuration

PINS = server_packages.read_pinned_environments()
PYTHON = {name: pin for name, pin in PINS.items() if pin.kind == "python"}
NPM = {name: pin for name, pin in PINS.items() if pin.kind == "npm"}

# --- the locks ---------------------------------------------------------------------------

_PINNED = re.compile(
    r"([a-z0-9-]+)==([^\s\\]+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
)


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_lock_pins_every_package_by_version_and_sum(name: str) -> None:
    pin = PYTHON[name]
    comment, body = pin.lock.read_text().split("\n", 1)
    assert comment.startswith(f"# {' '.join(pin.packages)};")  # made from what the index says
    locked = {found[1]: found[2] for found in _PINNED.finditer(body)}
    assert _PINNED.sub("", body) == ""
    assert not set(pin.omitted_packages) & set(locked)
    for package, pinned, version in (want.partition("==") for want in pin.packages):
        assert not pinned or locked[package] == version


@pytest.mark.parametrize("name", NPM)
def test_an_npm_lock_pins_every_package_by_version_and_sum(name: str) -> None:
    packages: dict[str, dict[str, Any]] = json.loads(NPM[name].lock.read_bytes())["packages"]
    root = packages.pop("")
    assert tuple(f"{word}@{at}" for word, at in root["dependencies"].items()) == NPM[name].packages
    assert packages
    for package in packages.values():
        assert package["version"] and package["integrity"].startswith("sha512-")


@pytest.mark.parametrize("name", PINS)
def test_a_lock_names_no_registry(name: str) -> None:
    assert "://" not in PINS[name].lock.read_text().replace("https://opencollective.com", "")


def test_each_server_of_the_suite_has_its_environment() -> None:
    entries = server_configuration.SERVER_CONFIG["mcpServers"]
    assert {
        one.pinned_environment
        for one in server_config.parse_config(server_configuration.SERVER_CONFIG, "m3-local")
    } == set(PINS)
    for name, entry in entries.items():
        assert entry[PINS[name].kind] == name


# --- how they are made, with a package of our own and no index -------------------------


@pytest.fixture
def pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> server_packages.PinnedEnvironment:
    """A pin of one small wheel, in a cache of its own."""
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "a cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel = _wheel(tmp_path)
    (tmp_path / "tiny.txt").write_text(
        f"tiny==1 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    )
    index = {"tiny": {"python": ["tiny==1"], "program": "tiny"}}
    (tmp_path / "index.json").write_text(json.dumps(index))
    return server_packages.read_pinned_environments(tmp_path)["tiny"]


def _wheel(folder: Path) -> Path:
    path = folder / "tiny-1-py3-none-any.whl"
    files = {
        "tiny.py": "def main():\n    print('it runs')\n",
        "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
        "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny-1.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
    }
    with zipfile.ZipFile(path, "w") as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
        bundle.writestr("tiny-1.dist-info/RECORD", "".join(f"{name},,\n" for name in files))
    return path


def _run(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_the_program_of_a_made_environment_runs(pin: server_packages.PinnedEnvironment) -> None:
    assert _run(server_packages.install_environment(pin) / "bin" / "tiny") == "it runs\n"


def test_a_made_environment_is_not_made_again(
    pin: server_packages.PinnedEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = server_packages.install_environment(pin)
    monkeypatch.setattr(subprocess, "run", None)
    assert server_packages.install_environment(pin) == folder


def test_what_was_interrupted_is_made_anew(pin: server_packages.PinnedEnvironment) -> None:
    folder = server_packages.environment_folder(pin)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("half of it")
    assert _run(server_packages.install_environment(pin) / "bin" / "tiny") == "it runs\n"


def test_an_environment_whose_interpreter_went_is_made_anew(
    pin: server_packages.PinnedEnvironment,
) -> None:
    python = server_packages.install_environment(pin) / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert _run(server_packages.install_environment(pin) / "bin" / "tiny") == "it runs\n"


def test_two_processes_make_it_once(pin: server_packages.PinnedEnvironment, tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from toolmark.environments.mcp import server_packages as e;"
        "real = e._install_python\n"
        "def counted(one, folder):\n"
        "    open(sys.argv[2], 'a').write('made\\n'); real(one, folder)\n"
        "e._install_python = counted; "
        "e.install_environment(e.read_pinned_environments(pathlib.Path(sys.argv[1]))['tiny'])"
    )
    argv = [sys.executable, "-c", code, str(tmp_path), str(tmp_path / "count")]
    both = [subprocess.Popen(argv) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert (tmp_path / "count").read_text() == "made\n"
    assert _run(server_packages.environment_folder(pin) / "bin" / "tiny") == "it runs\n"


def test_a_file_that_is_not_the_pinned_one_is_not_installed(
    pin: server_packages.PinnedEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "tiny.txt").write_text(f"tiny==1 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(DataError, match=r"tiny: pip could not install tiny\.txt: (?s:.)*HASHES"):
        server_packages.install_environment(pin)
    assert not (server_packages.environment_folder(pin) / "bin" / "tiny").exists()


def test_every_environment_is_announced_as_it_is_made(
    pin: server_packages.PinnedEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "foul.txt").write_text(f"tiny==1 --hash=sha256:{'0' * 64}\n")
    foul = replace(pin, name="foul", lock=tmp_path / "foul.txt")
    monkeypatch.setattr(server_packages, "_own_environments", lambda: {"tiny": pin, "foul": foul})
    reported: list[str] = []
    assert not server_packages.is_installed(pin)
    failed = server_packages.install_environments(["tiny", "foul"], tell=reported.append)
    assert list(failed) == ["foul"]
    assert server_packages.is_installed(pin) and not server_packages.is_installed(foul)
    counted, names = zip(*(line.partition(":")[0].split() for line in reported), strict=True)
    assert counted == ("1/2", "2/2") and set(names) == {"tiny", "foul"}
    assert any(re.fullmatch(r"./2 tiny: installed in [\d.]+\ss", line) for line in reported)


def test_another_lock_is_another_environment(pin: server_packages.PinnedEnvironment) -> None:
    before = server_packages.environment_folder(pin)
    pin.lock.write_text(pin.lock.read_text() + "# new\n")
    assert server_packages.environment_folder(pin) != before


def test_without_npm_its_servers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    failed = server_packages.install_environments(NPM)
    assert set(failed) == set(NPM)
    for name, why in failed.items():
        assert why.startswith(f"{name}: npm was not found; install Node.js")


def test_what_the_system_lacks_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match=r"ocr: .*tesseract \(on Debian: .*tesseract-ocr\)"):
        server_packages.server_command("ocr")
    with pytest.raises(DataError, match=r"memory: .*node"):
        server_packages.server_command("memory")


def test_what_is_not_installed_says_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path))
    with pytest.raises(
        DataError, match="time: not installed yet; run `toolmark fetch mcp-servers`"
    ):
        server_packages.server_command("time")


def test_an_unknown_name_is_the_callers_fault() -> None:
    with pytest.raises(UsageError, match="did you mean: excel"):
        server_packages.server_command("exel")
