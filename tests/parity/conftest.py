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
    folder = tmp_path_factory.mktemp("vendors")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    requirements = str(Path(__file__).with_name("vendor_requirements.txt"))
    command = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "-r", requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "ERROR" in line), done.stderr)
        pytest.fail(f"the packages of the vendors cannot be installed from PyPI: {reason}")
    return folder / "bin/python"
