"""Resolves the servers' packages again and writes their lock files, for maintainers.

Run `python -m toolmark.studio.lock_server_packages [NAME...]` after a change of
`locks/index.json`. pip and npm only report what they would install. The checksums come from the
package index; no package code is run. A Python lock has the checksums of the wheels for every
platform below, so one file serves all platforms.
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

from toolmark.core.errors import DataError
from toolmark.environments.mcp import server_packages

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LINUX = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
PLATFORMS = (
    tuple(f"{age}_x86_64" for age in LINUX),
    tuple(f"{age}_aarch64" for age in LINUX),
    ("macosx_14_0_arm64",),
)


def main(names: Iterable[str]) -> None:
    """Write the lock files of the named environments, by default of all."""
    pins = server_packages.read_pinned_environments()
    for name in tuple(names) or tuple(pins):
        pin = pins[name]
        text = _lock_python(pin) if pin.kind == "python" else _lock_npm(pin)
        pin.lock.write_text(text, "utf-8")
        sys.stderr.write(f"{name}: {pin.lock}\n")


def _lock_python(pin: server_packages.PinnedEnvironment) -> str:
    """Resolve on the first platform; the other platforms must use the same versions."""
    versions: dict[str, str] = {}
    sums: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for platform in PLATFORMS:
            for found in _resolve_packages(pin, python, platform, versions):
                name = found["metadata"]["name"].lower().replace("_", "-").replace(".", "-")
                if name not in pin.omitted_packages:
                    versions[name] = found["metadata"]["version"]
                    sums[name].add(found["download_info"]["archive_info"]["hashes"]["sha256"])
    lines = [f"# {' '.join(pin.packages)}; made by toolmark.studio.lock_server_packages"]
    for name in sorted(versions):
        hashes = " \\\n".join(f"    --hash=sha256:{one}" for one in sorted(sums[name]))
        lines.append(f"{name}=={versions[name]} \\\n{hashes}")
    return "\n".join(lines) + "\n"


def _resolve_packages(
    pin: server_packages.PinnedEnvironment,
    python: str,
    platform: tuple[str, ...],
    versions: dict[str, str],
) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        constraint_file, report = Path(folder, "constraints.txt"), Path(folder, "report.json")
        constraint_file.write_text(
            "".join(f"{name}=={version}\n" for name, version in versions.items())
        )
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet"]
        command += ["--ignore-installed", "--only-binary=:all:", "--report", str(report)]
        command += ["--target", str(Path(folder, "none")), "--constraint", str(constraint_file)]
        command += ["--python-version", python, "--implementation", "cp"]
        for tag in platform:
            command += ["--platform", tag]
        # A local folder of wheels in pip's configuration may have other files.
        _run_command([*command, *pin.packages], {"PIP_CONFIG_FILE": os.devnull})
        found: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["install"]
        return found


def _lock_npm(pin: server_packages.PinnedEnvironment) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "package.json").write_text('{"name": "server", "private": true}')
        command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--save-exact"]
        _run_command([*command, "--prefix", folder, *pin.packages], {})
        lock = json.loads(Path(folder, "package-lock.json").read_text("utf-8"))
    for package in lock["packages"].values():
        # The user's registry has the same files at another address.
        package.pop("resolved", None)
        package.pop("funding", None)
    return json.dumps(lock, indent=1) + "\n"


def _run_command(command: list[str], extra: dict[str, str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **extra}
    )
    if done.returncode:
        raise DataError(f"{' '.join(command[:6])} failed: {done.stderr.strip()[-2000:]}")


if __name__ == "__main__":
    main(sys.argv[1:])
