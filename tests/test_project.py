"""The project keeps its rules: layers, lazy imports, public names. `make check` has the others."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import resources
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import toolmark

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolmark"


def _rules() -> ModuleType:
    spec = spec_from_file_location("check_rules", ROOT / "scripts" / "check_rules.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.long  # `make check` asks the same
def test_the_rules_of_the_house_hold() -> None:
    lines, counts = _rules().check_house()
    assert lines == []
    assert counts["functions"] > 1000


@pytest.mark.parametrize(
    ("name", "code", "broken"),
    [
        ("core.a", "from toolmark.models import b", "upward import: toolmark.models.b"),
        ("models.b", "NAME = 'toolmark.formats.c:d'", "upward import: toolmark.formats.c"),
        ("suites.x.a", "import toolmark.suites.y.b", "suite-to-suite import"),
        ("suites.y.b", "def f() -> None:\n    from toolmark.suites.y import c", "circle"),
        ("scoring.s", "import socket", "a grader imports socket"),
        ("core.e", "eval('1')", "calls eval"),
        ("core.p", "import pickle", "imports pickle"),
        ("core.r", "from . import errors", "relative import"),
        ("core.told", "def read_told() -> None: ...", "retired word: read_told"),
        ("core.h", "x = 1\nhasattr(x, 'opening')", "attribute lookup: hasattr"),
        ("core.g", "x = 1\ngetattr(x, 'close', None)", "attribute lookup: getattr of 'close'"),
        ("core.q", "import typing\n@typing.runtime_checkable\nclass A: ...", "a protocol checked"),
        ("core.v", "def interpret(data: bytes) -> bytes: ...", "bare verb: interpret"),
        ("core.w", "class A:\n    def connect(self) -> None: ...", "bare verb: connect"),
        ("core.s", "NAME = 'run the suite mfcl-vision'", "names a suite: mfcl-vision"),
        ("models.f", "PATH = 'suites/m3/locks'", "names a suite: suites/"),
        ("models.t", "import toolmark", "upward import: toolmark"),
        ("models.u", "from toolmark import __version__", "upward import: toolmark"),
        ("models.x", "NAME = 'formats.c'", "upward import: toolmark.formats.c"),
        ("core.c", "x = 1  # as it was told", "retired word: told"),
        ("core.n", "NAME = 'told_by'", "retired word: told"),
        ("core.broad", "try:\n    pass\nexcept Exception:\n    pass", "catches everything"),
    ],
)
def test_each_rule_finds_what_breaks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, broken: str
) -> None:
    rules = _rules()
    modules = {
        "__init__": "", "models.b": "", "formats.c": "", "suites.y.b": "",
        "suites.y.c": "from toolmark.suites.y import b",
    }  # fmt: skip
    source = tmp_path / "src" / "toolmark"
    for module, text in {**modules, name: code}.items():
        path = source / f"{module.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    monkeypatch.setattr(rules, "SOURCE", source)
    lines, _ = rules.check_house()
    assert any(broken in line for line in lines), lines


@pytest.mark.parametrize(
    ("code", "broken"),
    [
        (f'DATA = "../{"shared"}/data.json"', "reads a folder beside the repository"),
        (f'DATA = Path({"__file__"}).parents[2] / "data"', "a path above the repository"),
        ("def test_a_" + "knob() -> None: ...", "retired word: test_a_knob"),
    ],
)
def test_each_rule_of_all_files_finds_what_breaks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, broken: str
) -> None:
    rules = _rules()
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    path = tmp_path / "tests" / "test_some.py"
    path.write_text("DATA = Path(__file__).parents[1]\n")
    assert rules.check_all_files() == []
    path.write_text(code)
    assert rules.check_all_files() == [f"tests/test_some.py:1: {broken}"]


def test_a_suite_may_say_its_name_where_it_names_an_extra_and_in_a_docstring() -> None:
    imports = _rules().house_imports
    code = '"""As in bfcl."""\nEXTRA = "m3"\nstep = user_modules.install_command("bfcl")\n'
    assert list(imports.named_suites(ast.parse(code))) == []
    assert list(imports.named_suites_of_text("a\nrun m3-local, not m3.md")) == [(1, "m3-local")]


def test_the_levels_are_those_that_the_guide_lists_and_every_room_is_in_one() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| \d+ \| ((?:`\w+` ?)+)\|", guide, re.MULTILINE)
    imports = _rules().house_imports
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert imports.LEVEL_OF.keys() == rooms - {"__init__", "__pycache__", "py"}
    assert [{*re.findall(r"\w+", row)} for row in rows] == [{*level} for level in imports.LEVELS]


def test_public_names_load_and_shadow_no_subpackage() -> None:
    for name in toolmark.__all__:
        assert getattr(toolmark, name) is not None
        assert not (SOURCE / name).exists()
        assert not (SOURCE / f"{name}.py").exists()
    assert set(toolmark.__all__) == set(toolmark._MODULE_BY_NAME)
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
