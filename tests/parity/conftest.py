"""The official code as fixtures, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import toolmark
from tests.parity.process import Ask, asker

__all__ = ["toolmark"]


@pytest.fixture(scope="session")
def official() -> Ask:
    return asker("official.py")


@pytest.fixture(scope="session")
def official_formats() -> Ask:
    return asker("official_formats.py")


@pytest.fixture(scope="session")
def agentically() -> Ask:
    return asker("official_agentic.py")


@pytest.fixture(scope="session")
def handled() -> Ask:
    return asker("official_handlers.py")


@pytest.fixture(scope="session")
def vendor_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the packages of the vendors of models."""
    return make_environment(tmp_path_factory.mktemp("vendors"), "vendor_requirements.txt")


@pytest.fixture(scope="session")
def handler_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the vendors' packages for the official handlers.

    These are the oldest that the handlers take. What else they need is found in this environment.
    """
    folder = tmp_path_factory.mktemp("handlers")
    python = make_environment(folder, "handler_requirements.txt")
    ours = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    next(folder.glob("lib/*/site-packages")).joinpath("tests.pth").write_text(f"{ours}\n")
    return python


def make_environment(folder: Path, requirements: str) -> Path:
    """Install packages from PyPI in a new environment; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin/python"
    listed = str(Path(__file__).with_name(requirements))
    command = [str(python), "-m", "pip", "install", "--quiet", "-r", listed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "ERROR" in line), done.stderr)
        pytest.fail(f"the packages of the vendors cannot be installed from PyPI: {reason}")
    return python
