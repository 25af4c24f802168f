"""Resolve the servers' packages anew and write their locks: for those who keep this suite.

`python -m toolmark.suites.m3.local.relock [NAME...]` after a change of `locks/index.json`. pip and
npm are only asked what they would install; the sums come from the package index, nothing is run.
A Python lock holds the sums of the wheels for every platform below, so one file serves them all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolmark.errors import DataError
from toolmark.worlds.mcp import environment

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LINUX = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
PLATFORMS = (
    tuple(f"{age}_x86_64" for age in LINUX),
    tuple(f"{age}_aarch64" for age in LINUX),
    ("macosx_14_0_arm64",),
)


def main(names: Iterable[str]) -> None:
    """Write the locks of the named environments, of all by default."""
    pins = environment.pins()
    for name in tuple(names) or tuple(pins):
        pin = pins[name]
        text = _python(pin) if pin.kind == "python" else _npm(pin)
        pin.lock.write_text(text, "utf-8")
        sys.stderr.write(f"{name}: {pin.lock}\n")


def _python(pin: environment.Pin) -> str:
    """Resolve on the first platform; the others are held to the same versions."""
    versions: dict[str, str] = {}
    sums: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for platform in PLATFORMS:
            for found in _resolved(pin, python, platform, versions):
                name = found["metadata"]["name"].lower().replace("_", "-").replace(".", "-")
                if name not in pin.without:
                    versions[name] = found["metadata"]["version"]
                    sums[name].add(found["download_info"]["archive_info"]["hashes"]["sha256"])
    lines = [f"# {' '.join(pin.packages)}; made by toolmark.suites.m3.local.relock"]
    for name in sorted(versions):
        hashes = " \\\n".join(f"    --hash=sha256:{one}" for one in sorted(sums[name]))
        lines.append(f"{name}=={versions[name]} \\\n{hashes}")
    return "\n".join(lines) + "\n"


def _resolved(
    pin: environment.Pin, python: str, platform: tuple[str, ...], versions: dict[str, str]
) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        held, report = Path(folder, "held.txt"), Path(folder, "report.json")
        held.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet"]
        command += ["--ignore-installed", "--only-binary=:all:", "--report", str(report)]
        command += ["--target", str(Path(folder, "none")), "--constraint", str(held)]
        command += ["--python-version", python, "--implementation", "cp"]
        for tag in platform:
            command += ["--platform", tag]
        # a local folder of wheels that pip is set up to prefer may hold other files
        _run([*command, *pin.packages], {"PIP_CONFIG_FILE": os.devnull})
        found: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["install"]
        return found


def _npm(pin: environment.Pin) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "package.json").write_text('{"name": "server", "private": true}')
        command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--save-exact"]
        _run([*command, "--prefix", folder, *pin.packages], {})
        lock = json.loads(Path(folder, "package-lock.json").read_text("utf-8"))
    for package in lock["packages"].values():
        package.pop("resolved", None)  # the user's registry has the same files under its own name
        package.pop("funding", None)
    return json.dumps(lock, indent=1) + "\n"


def _run(command: list[str], extra: dict[str, str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **extra}
    )
    if done.returncode:
        raise DataError(f"{' '.join(command[:6])} failed: {done.stderr.strip()[-2000:]}")


if __name__ == "__main__":
    main(sys.argv[1:])
