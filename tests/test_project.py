"""The project keeps its own rules: layers, lazy imports, style, types."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

import toolmark

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolmark"
BASE = {
    "types", "errors", "canary", "codec", "seeds", "brackets", "media", "svg", "fetch", "plugin",
    "encoder", "workers", "draw", "files", "failure", "record", "private",
}  # fmt: skip
RANKS = {
    "dialects": 1, "perturb": 1, "models": 1, "worlds": 1, "score": 1, "stats": 1,
    "diagnose": 1, "agents": 2, "runs": 3, "suites": 4, "report": 5, "review": 6,
    "api": 6, "cli": 7, "__main__": 8,
}  # fmt: skip
PURE = {"score", "stats", "dialects"}
TRANSPORTS = {"pyreqwest", "aiohttp", "httpx", "uvloop", "asyncio", "socket", "subprocess"}


def _layer(path: Path) -> str:
    inside = path.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.ImportFrom(level=level) if level:
                raise AssertionError(f"{path}: relative import")


def _ours(name: str) -> str | None:
    """Return the layer of an import of our own; several suites import each other never."""
    parts = name.split(".")
    return parts[1] if parts[0] == "toolmark" and len(parts) > 1 else None


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    layer = _layer(path)
    if layer == "__init__":
        return
    allowed = set(BASE) if layer in BASE else BASE | {layer}
    if layer not in BASE:
        allowed |= {name for name, rank in RANKS.items() if rank < RANKS[layer]}
        if RANKS[layer] == 1:
            allowed = BASE | {layer}
        if path.name == "score.py" and layer == "suites":
            allowed |= {"worlds"}
    used = {found for name in _imports(path) if (found := _ours(name)) is not None}
    assert used - {"__version__"} <= allowed, f"{layer} must not import {used - allowed}"


@pytest.mark.parametrize(
    "path", [p for p in FILES if _layer(p) in PURE], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_graders_know_no_transport(path: Path) -> None:
    assert not {name.split(".")[0] for name in _imports(path)} & TRANSPORTS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_is_evaluated_or_unpickled(path: Path) -> None:
    tree = ast.parse(path.read_text())
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"eval", "exec", "compile", "__import__"}
    assert not {"pickle", "marshal", "shelve", "yaml"} & {n.split(".")[0] for n in _imports(path)}


def test_broad_catches_stand_where_faults_of_ours_are_turned_into_not_run() -> None:
    broad = [
        str(path.relative_to(SOURCE))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and not any(isinstance(inner, ast.Raise) for inner in node.body)
    ]
    assert broad == ["runs/play.py", "runs/presenting.py", "runs/scoring.py"]


def test_public_names_load_and_shadow_no_subpackage() -> None:
    for name in toolmark.__all__:
        assert getattr(toolmark, name) is not None
        assert not (SOURCE / name).exists()
        assert not (SOURCE / f"{name}.py").exists()
    assert set(toolmark.__all__) == set(toolmark._HOME)
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = toolmark.lod


def test_import_loads_nothing_but_a_few_modules_of_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import toolmark; "
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {name for name in loaded if name.startswith("toolmark")} == {"toolmark"}
    assert {name.partition(".")[0] for name in loaded} - {"toolmark"} <= sys.stdlib_module_names
    assert len(loaded) < 60


def test_package_is_typed() -> None:
    assert resources.files("toolmark").joinpath("py.typed").is_file()


def _check(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    _check("ruff", "check", ".")


def test_code_is_formatted() -> None:
    _check("ruff", "format", "--check", ".")


def test_types_hold() -> None:
    _check("mypy")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_group_is_repeated_possessively(path: Path) -> None:
    # Python 3.11.2, the one of Debian 12, does not restore what a failed repeat consumed
    assert not re.search(r"\)(?:[*+?]|\{+\d*,?\d*\}+)\+", path.read_text())
