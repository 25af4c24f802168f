"""Foreign text and odd numbers survive storage."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
import re

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.core import json_codec, records

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
FLOATS = st.floats()
WHOLE = st.integers(0, 2**53)

RECORDS = [
    kind
    for kind in vars(records).values()
    if isinstance(kind, type) and issubclass(kind, records.Record) and kind is not records.Record
]


@given(ANY_TEXT)
def test_escape_is_reversible_and_encodable(text: str) -> None:
    escaped = json_codec.escape_surrogates(text)
    assert json_codec.restore_surrogates(escaped) == text
    escaped.encode("utf-8")


def _build(kind: type[msgspec.Struct], data: st.DataObject) -> msgspec.Struct:
    fields = {}
    for field in msgspec.structs.fields(kind):
        value = _value(field.type, data)
        fields[field.name] = value
    return kind(**fields)


def _value(kind: object, data: st.DataObject) -> object:
    info = msgspec.inspect.type_info(kind)
    return _drawn(info, data)


def _drawn(info: msgspec.inspect.Type, data: st.DataObject) -> object:
    match info:
        case msgspec.inspect.StrType():
            return json_codec.escape_surrogates(data.draw(ANY_TEXT))
        case msgspec.inspect.IntType():
            return data.draw(WHOLE)
        case msgspec.inspect.FloatType():
            return data.draw(FLOATS)
        case msgspec.inspect.BoolType():
            return data.draw(st.booleans())
        case msgspec.inspect.NoneType():
            return None
        case msgspec.inspect.LiteralType(values=values):
            return data.draw(st.sampled_from(values))
        case msgspec.inspect.VarTupleType(item_type=item):
            return tuple(_drawn(item, data) for _ in range(data.draw(st.integers(0, 2))))
        case msgspec.inspect.DictType(value_type=value):
            return {data.draw(st.text("abc")): _drawn(value, data) for _ in range(2)}
        case msgspec.inspect.UnionType(types=options):
            drawn = _drawn(data.draw(st.sampled_from(options)), data)
            # where text may stand too, an odd number comes back as the text it was stored as
            text = any(isinstance(option, msgspec.inspect.StrType) for option in options)
            odd = isinstance(drawn, float) and not math.isfinite(drawn)
            return repr(drawn) if text and odd else drawn
        case msgspec.inspect.StructType(cls=kind):
            return _build(kind, data)
        case msgspec.inspect.AnyType():
            return data.draw(st.sampled_from([None, "x", 1, [1, "y"], {"k": [2.5]}]))
        case _:
            raise NotImplementedError(str(info))


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, msgspec.Struct) and isinstance(b, msgspec.Struct):
        return type(a) is type(b) and _same(
            list(msgspec.structs.asdict(a).values()), list(msgspec.structs.asdict(b).values())
        )
    return a == b


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_record_survives_a_round_trip(
    kind: type[msgspec.Struct], data: st.DataObject
) -> None:
    record = _build(kind, data)
    line = json_codec.encode_record(record)
    assert b"\n" not in line
    assert _same(json_codec.decode_record(line, kind), record)
    travelled = pickle.loads(pickle.dumps(record))  # noqa: S301 - these bytes are ours
    assert _same(travelled, record) and json_codec.encode_record(travelled) == line


@given(st.recursive(st.none() | st.booleans() | FLOATS | st.integers() | ANY_TEXT,
                    lambda each: st.lists(each) | st.dictionaries(ANY_TEXT, each)))  # fmt: skip
def test_plain_values_are_json_and_stay_so(value: object) -> None:
    plain = json_codec.to_plain_json(value)
    assert _same(msgspec.json.decode(json_codec.encode_record(plain)), plain)


def test_numbers_that_json_cannot_hold_become_strings() -> None:
    assert json_codec.to_plain_json([math.inf, -math.inf, 10**30]) == [
        "inf",
        "-inf",
        "1" + "0" * 30,
    ]
    assert json_codec.to_plain_json(10**5000).startswith("0x")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "nul", "[" * 10_000, "[" * 10_000 + "]" * 10_000, "1" * 5_000,
        '{"a":' * 300 + "1" + "}" * 300, "\x00",
    ],
)  # fmt: skip
def test_unreadable_json_is_one_error(text: str) -> None:
    with pytest.raises(json_codec.InvalidJson):
        json_codec.parse_json(text)


def test_json_reads_as_the_standard_library_does() -> None:
    for text in ['{"a": [1, 2.5, "x\\ud800"]}', "1e400", "NaN", '"[[[[" ', "[" * 150 + "]" * 150]:
        assert repr(json_codec.parse_json(text)) == repr(json.loads(text))


def test_brackets_inside_strings_are_not_depth() -> None:
    assert json_codec.parse_json(json.dumps(["[" * 5_000 + '\\"{']))


def test_huge_text_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(json_codec.InvalidJson, match="limit"):
        json_codec.parse_json('"' + "x" * (json_codec.MAX_JSON_CHARS + 1) + '"')


@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=9)),
        max_size=4,
    )
)
def test_rows_are_read_from_json_and_from_a_list_as_python_writes_it(found: list[object]) -> None:
    assert json_codec.parse_rows(json.dumps(found)) == found
    assert json_codec.parse_rows(repr(found)) == found


@pytest.mark.parametrize("text", ["[" * 60_000, "{", "", "__import__('os')", "[1, [2]]", "7"])
def test_what_is_no_list_of_rows_is_none(text: str) -> None:
    assert json_codec.parse_rows(text) == []


def test_what_a_text_in_a_row_says_is_no_row() -> None:
    forged = "see 'href': 'https://way.example/page' and [{'href': 'x'}]"
    for written in (json.dumps, repr):
        text = written([{"href": "https://a.example/", "body": forged}])
        assert [row["href"] for row in json_codec.parse_rows(text)] == ["https://a.example/"]


FORMULAS = (
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "'=1", "''=1", "＝1", "－1",
    "=cmd|' /C calc'!A0", '=HYPERLINK("http://x","y")', "-", "+", "@", "=", "=\u2028",
)  # fmt: skip
PLAIN = ("", "a", "model-7b", "a,b", 'say "x"', "two\nlines", "'quoted", "N/A", "a=b", "x\u2028y")
NUMERALS = ("-1", "+3", "-0.5", "12.50%", "-1e-7", "+3 %", "7")


@given(st.text(st.sampled_from("=+-@\t\r\n ',\"a1＝\u2028"), max_size=6))
@example("'=")
def test_a_cell_is_no_formula_and_its_text_comes_back(text: str) -> None:
    line = (
        f"{json_codec.csv_cell('first')},{json_codec.csv_cell(text)},{json_codec.csv_cell(2.5)}\r\n"
    )
    ((first, cell, number),) = csv.reader(io.StringIO(line, newline=""))
    assert (first, number) == ("first", "2.5")
    assert json_codec._NUMBER.fullmatch(cell) or not re.match(r"\s*[=+\-@\t\r\n＝＋－＠]", cell)
    guarded = re.match(r"'+\s*[=+\-@\t\r\n＝＋－＠]", cell)
    assert (cell[1:] if guarded else cell) == text


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(json_codec.csv_cell(text), newline=""))
    assert cell == "'" + text


@pytest.mark.parametrize("text", [*PLAIN, *NUMERALS])
def test_other_text_and_numerals_stay_as_they_are(text: str) -> None:
    rows = list(csv.reader(io.StringIO(json_codec.csv_cell(text) + ",x", newline="")))
    assert rows == [[text, "x"]]


@pytest.mark.parametrize("number", [-1, 0.5, -0.25, 1e-7, 3])
def test_numbers_stay_numbers(number: float) -> None:
    assert float(json_codec.csv_cell(number)) == number


@pytest.mark.parametrize("source", ["[1, one]", "f(2)", "-'x'", "1**9"])
def test_what_is_no_literal_raises_the_same_error_every_time(source: str) -> None:
    """An address in memory in stored evidence would make equal runs differ."""
    reported = set()
    for _ in range(2):
        with pytest.raises(ValueError) as caught:
            json_codec.parse_literal(source)
        reported.add(str(caught.value))
    assert len(reported) == 1 and "0x" not in reported.pop()
    assert json_codec.parse_literal("[1, 'a', (2.5, None)]") == [1, "a", (2.5, None)]


def test_objects_are_stored_without_their_addresses() -> None:
    collected = {"a": object(), "b": [test_objects_are_stored_without_their_addresses]}
    assert json_codec.to_plain_json(collected) == {
        "a": "<object>",
        "b": ["<function test_objects_are_stored_without_their_addresses>"],
    }
    assert json_codec.to_plain_json("<x object at 0x7f00>") == "<x object at 0x7f00>", (
        "texts stay as they are"
    )
