"""Every table that is stored as data is of its schema, in order, and read in one place."""

from __future__ import annotations

import ast
import csv
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, get_type_hints

import msgspec
import pytest
from msgspec import Meta
from msgspec import inspect as schemas

from toolmark.core import data_files
from toolmark.core.data_files import WEIGHTED, DataRecord, placeholders

SOURCE = Path(__file__).parents[2] / "src" / "toolmark"
SUFFIXES = (".toml", ".csv")
_COMPARED_ONCE = schemas.StrType | schemas.StructType | schemas.FrozenSetType
_PLACEHOLDER = re.compile(r"\{\w*\}")


class Claim(NamedTuple):
    """A call of `read_table`: the module that it is in, the file, the source of its schema."""

    module: str
    path: Path
    schema: str

    @property
    def name(self) -> str:
        return self.path.relative_to(SOURCE).as_posix()

    def type(self) -> Any:
        """Return the schema, as the module's own names spell it."""
        namespace = vars(importlib.import_module(self.module))
        hints = get_type_hints(
            SimpleNamespace(__annotations__={"schema": self.schema}),
            globalns=namespace,
            include_extras=True,
        )
        return hints["schema"]


def _find_claims(path: Path) -> Iterator[Claim]:
    text = path.read_text()
    module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    for node in ast.walk(ast.parse(text)) if "read_table(" in text else ():
        match node:
            case ast.Call(func=ast.Name(id="read_table"), args=[ast.Name("__file__"), name, type_]):
                assert isinstance(name, ast.Constant) and isinstance(name.value, str), path
                data = data_files.data_path(path, name.value)
                yield Claim(module.removesuffix(".__init__"), data, ast.unparse(type_))
            case ast.Call(func=ast.Name(id="read_table")):
                pytest.fail(f"{path}: write read_table(__file__, NAME, TYPE)")


CLAIMS = [claim for path in sorted(SOURCE.rglob("*.py")) for claim in _find_claims(path)]
by_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


def test_every_data_file_is_read_in_one_place() -> None:
    stored = {path for suffix in SUFFIXES for path in SOURCE.rglob(f"*{suffix}")}
    assert {path.parent.name for path in stored} == {data_files.DATA_FOLDER}
    assert Counter(claim.path for claim in CLAIMS) == Counter(stored)
    assert {path for path in SOURCE.rglob("data/*") if path.is_file()} == stored


@by_claim
def test_a_data_file_is_of_its_schema(claim: Claim) -> None:
    raw = data_files.read_raw(claim.path)
    data_files.convert_data(raw, claim.type(), claim.path.name)
    assert list(_open_types(schemas.type_info(claim.type()))) == []


@by_claim
def test_a_data_file_is_in_order(claim: Claim) -> None:
    raw = data_files.read_raw(claim.path)
    assert list(_faults(raw, schemas.type_info(claim.type()), "")) == []


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("data/*.csv")), ids=lambda path: path.name)
def test_the_rows_of_a_csv_file_have_the_cells_of_its_header(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    assert {len(row) for row in rows} == {len(header)}
    assert len(set(header)) == len(header)


def _open_types(type_: schemas.Type) -> Iterator[str]:
    """Yield the tables of a schema that would accept a key that they do not know."""
    match type_:
        case schemas.StructType():
            if not type_.forbid_unknown_fields:
                yield type_.cls.__name__
            for field in type_.fields:
                yield from _open_types(field.type)
        case schemas.DataclassType():  # accepts any key: `_faults` finds those it does not have
            for field in type_.fields:
                yield from _open_types(field.type)
        case schemas.AnyType() | schemas.TypedDictType():
            yield type(type_).__name__
        case schemas.Metadata():
            yield from _open_types(type_.type)
        case schemas.DictType():
            yield from _open_types(type_.value_type)
        case schemas.VarTupleType() | schemas.ListType() | schemas.FrozenSetType():
            yield from _open_types(type_.item_type)
        case schemas.TupleType():
            for each in type_.item_types:
                yield from _open_types(each)
        case schemas.UnionType():
            for each in type_.types:
                yield from _open_types(each)


def _faults(raw: Any, type_: schemas.Type, where: str, *, weighted: bool = False) -> Iterator[str]:
    """Yield what is wrong in a file: repeated entries, unsorted sets, unknown placeholders."""
    match type_:
        case schemas.Metadata():
            repeats = bool((type_.extra or {}).get("repeats"))
            yield from _faults(raw, type_.type, where, weighted=repeats)
        case schemas.UnionType():
            for each in type_.types:
                if _accepts(each, raw):
                    yield from _faults(raw, each, where)
        case schemas.StructType() | schemas.DataclassType():
            types = {field.encode_name: field.type for field in type_.fields}
            yield from (f"{where}.{name}: unknown" for name in raw.keys() - types.keys())
            for name in raw.keys() & types.keys():
                yield from _faults(raw[name], types[name], f"{where}.{name}")
        case schemas.DictType():
            for name, value in raw.items():
                yield from _faults(value, type_.value_type, f"{where}.{name}")
        case schemas.FrozenSetType() | schemas.SetType():
            if raw != sorted(set(raw)):
                yield f"{where}: not sorted, or repeated"
        case schemas.VarTupleType() | schemas.ListType():
            if not weighted and isinstance(type_.item_type, _COMPARED_ONCE):
                yield from (
                    f"{where}: {each!r} is repeated"
                    for i, each in enumerate(raw)
                    if each in raw[:i]
                )
            for i, each in enumerate(raw):
                yield from _faults(each, type_.item_type, f"{where}[{i}]")
        case schemas.TupleType():
            for i, (each, of) in enumerate(zip(raw, type_.item_types, strict=True)):
                yield from _faults(each, of, f"{where}[{i}]")
        case schemas.StrType():
            if type_.pattern is None and _PLACEHOLDER.search(raw):
                yield f"{where}: the schema does not say which placeholders are known"


def _accepts(type_: schemas.Type, raw: Any) -> bool:
    match type_:
        case schemas.StrType():
            return isinstance(raw, str)
        case schemas.VarTupleType() | schemas.TupleType() | schemas.FrozenSetType():
            return isinstance(raw, list)
        case schemas.DictType() | schemas.StructType() | schemas.Metadata():
            return isinstance(raw, dict)
        case _:
            return False


# --- the checks themselves ------------------------------------------------------------------


class Row(DataRecord, frozen=True):
    words: frozenset[str] = frozenset()
    drawn: tuple[str, ...] = ()
    odds: Annotated[tuple[str, ...], WEIGHTED] = ()
    pattern: Annotated[str, Meta(pattern=placeholders("a", "b"))] = ""
    n: int = 0


@pytest.mark.parametrize(
    ("raw", "faults"),
    [
        ({"words": ["a", "b"], "drawn": ["b", "a"], "odds": ["a", "a"], "pattern": "{a}"}, 0),
        ({"words": ["b", "a"]}, 1),
        ({"words": ["a", "a"]}, 1),
        ({"drawn": ["a", "b", "a"]}, 1),
        ({"drawn": ["on {a}"]}, 1),
    ],
)
def test_faults_are_found(raw: Any, faults: int) -> None:
    assert len(list(_faults(raw, schemas.type_info(Row), ""))) == faults


@pytest.mark.parametrize(
    "raw", [{"word": ["a"]}, {"drawn": "a"}, {"pattern": "{c}"}, {"pattern": "{a"}, {"n": "1"}]
)
def test_what_is_of_another_form_is_refused(raw: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"^rows\.toml: "):
        data_files.convert_data(raw, Row, "rows.toml")


def test_a_table_that_takes_any_key_is_found() -> None:
    class Open(msgspec.Struct):
        n: int = 0

    info = schemas.type_info(dict[str, tuple[Open, ...]])
    assert list(_open_types(info)) == ["Open"]


def test_tables_are_read_once_and_by_their_suffix(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    module = str(tmp_path / "module.py")
    (tmp_path / "data" / "rows.csv").write_text("n,pattern\n1,\n,{a}\n")
    (tmp_path / "data" / "row.toml").write_text("n = 1\n")
    assert data_files.read_table(module, "rows.csv", tuple[Row, ...]) == (
        Row(n=1),
        Row(pattern="{a}"),
    )
    assert data_files.read_table(module, "row.toml", Row) == Row(n=1)
    (tmp_path / "data" / "row.toml").unlink()
    assert data_files.read_table(module, "row.toml", Row) == Row(n=1)
    (tmp_path / "data" / "long.csv").write_text("n,pattern\n1,{a},2\n")
    with pytest.raises(msgspec.ValidationError):
        data_files.read_table(module, "long.csv", tuple[Row, ...])


def test_no_data_file_is_read_by_an_import_but_the_one_that_help_names() -> None:
    """The help of the command line lists the providers."""
    code = (
        "import importlib, pkgutil, toolmark\n"
        "from toolmark.core import data_files\n"
        "read, real = [], data_files.read_raw\n"
        "data_files.read_raw = lambda path: (read.append(path.name), real(path))[1]\n"
        "for module in pkgutil.walk_packages(toolmark.__path__, 'toolmark.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print(*read)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["providers.toml"]
