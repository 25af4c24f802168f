"""Rows of databases and sheets: which are to be changed or added, and what each column gets."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from toolmark.models.baselines.desk_facts import Facts, Link, Row, Table
from toolmark.models.baselines.desk_kit import Kit
from toolmark.models.baselines.desk_work import Work, persist
from toolmark.models.baselines.spans import norm, stems

_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n+")
_SET = re.compile(r"\bset (?:its|the|their) `?(\w+)`? .{0,400}?\bto (.{1,400}?)(?:,|\.$| and |$)")
_MARK = re.compile(r"\bmark [^,.]{0,400}? as `?(\w+)`?")
_ADD = re.compile(r"\b(?:note|add|enter|record|register|book|log)\b(?: (?:the|a|an|this))? (\w+)")
_NEW = re.compile(r"\bnew table (?:named |called )?`?(\w+)`? with the columns (.+)")
_COLUMN = re.compile(r"(?<![\w`])`?(\w+)`? \((\w+)(?:: ([^)]{0,400}))?\)")
_NEXT = re.compile(r"\b(?:highest|next|numbering|number after|last number|consecutive)\b")
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_TOTAL = re.compile(
    r"(?:total|amount due|sum|to pay|balance)\D{0,400}?(\d+[.,]\d\d)\b", re.IGNORECASE
)
_TYPES = {"text", "integer", "real", "numeric", "blob"}
_DATED, _WHOLE, _NET = stems("day date"), stems("gross total sum amount paid"), stems("net")
_ZERO = {"zero", "nought", "nothing"}
_SHEET_ROW = re.compile(r"\brow\b.*?\bsheet `?(\w+)`?", re.IGNORECASE)


class Sum(NamedTuple):
    """A value that is still to be worked out."""

    text: str


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


# --- databases ----------------------------------------------------------------------------


def change(kit: Kit, facts: Facts) -> Work:
    """Set or mark what the picture's record has, and add the row that is asked for."""
    found: list[tuple[str, Row]] = []
    for sentence in sentences(facts.question):
        found += _updates(sentence, facts) + _inserts(sentence, facts)
    calls = [kit.call("write query insert update", query=query) for query, _ in found]
    made = [call for call in calls if call]
    if made:
        yield from persist(kit, made)
    return [row for _, row in found]


def create(kit: Kit, facts: Facts) -> Work:
    """Make the table that is asked for, column by column, and fill its first row."""
    found = _NEW.search(facts.question)
    columns = _COLUMN.findall(found[2]) if found else []
    if not found or not columns or not any(table.kind == "rows" for table in facts.tables):
        return []
    kinds = ", ".join(
        f"{named(name)} {kind.upper() if kind.lower() in _TYPES else 'TEXT'}"
        for name, kind, _ in columns
    )
    call = kit.call("create table", query=f"CREATE TABLE {named(found[1])} ({kinds})")
    links = facts.links()
    row = {name: value(name, f"{name} {more}", facts, links, []) for name, _, more in columns}
    query = _insert(found[1], row)
    more = kit.call("write query insert update", query=query)
    if call and more:
        yield from persist(kit, [call])
        yield from persist(kit, [more])
    return [row]


def _updates(sentence: str, facts: Facts) -> list[tuple[str, Row]]:
    links = [link for link in facts.links() if link.table.kind == "rows"]
    found = []
    for column, wanted in _SET.findall(sentence):
        own = next((one for one in links if one.seen and column in one.row), None)
        if own is not None:
            rest = [one for one in links if one is not own]
            found.append(_update(own, column, _meant(wanted, column, facts, rest)))
    for word in _MARK.findall(sentence):
        own, column = _stated(word, [one for one in links if one.seen])
        if own is not None:
            found.append(_update(own, column, word))
    return found


def _stated(word: str, links: Sequence[Link]) -> tuple[Link | None, str]:
    """Return the record, and its column, in which others have this word."""
    for link in links:
        for column in link.row:
            if any(row.get(column) == word for row in link.table.rows):
                return link, column
    return None, ""


def _meant(wanted: str, column: str, facts: Facts, links: Sequence[Link]) -> Any:
    """Return what a column is to be: zero, a number, or what another record has of that name."""
    if wanted.split()[0] in _ZERO:
        return 0
    if re.fullmatch(r"-?\d+(?:\.\d+)?", wanted):
        return float(wanted) if "." in wanted else int(wanted)
    return facts.look(column, links)


def _inserts(sentence: str, facts: Facts) -> list[tuple[str, Row]]:
    for word in _ADD.findall(sentence):
        table = next((one for one in facts.tables if norm(one.name) == norm(word)), None)
        if table is not None and table.kind == "rows" and table.rows:
            row = filled(table, facts)
            return [(_insert(table.name, row), row)]
    return []


def _insert(table: str, row: Row) -> str:
    columns = ", ".join(map(named, row))
    cells = ", ".join(map(literal, row.values()))
    return f"INSERT INTO {named(table)} ({columns}) VALUES ({cells})"


def _update(link: Link, column: str, wanted: Any) -> tuple[str, Row]:
    """Return the query that sets a column of a record, and the record as it then is."""
    table, key = link.table.name, link.table.key
    where = f"{named(key)} = {literal(link.row[key])}"
    query = f"UPDATE {named(table)} SET {named(column)} = {literal(wanted)} WHERE {where}"
    return query, {**link.row, column: wanted}


def named(name: str) -> str:
    """Return the name of a table or column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a value as SQL writes it; a sum is left to the database."""
    if value is None:
        return "NULL"
    if isinstance(value, Sum):
        return f"ROUND({value.text}, 2)"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


# --- sheets -------------------------------------------------------------------------------


def append(kit: Kit, facts: Facts) -> Work:
    """Add the row that is asked for below the last one of a sheet."""
    found = _SHEET_ROW.search(facts.question)
    table = next((one for one in facts.tables if found and one.name == found[1]), None)
    if table is None or table.kind != "sheet" or not table.rows:
        return []
    row = filled(table, facts)
    sums = {name: cell for name, cell in row.items() if isinstance(cell, Sum)}
    asked = [kit.call("calculate expression", expression=cell.text) for cell in sums.values()]
    results = (yield [call for call in asked if call]) if all(asked) and asked else []
    row |= dict.fromkeys(sums) | dict(zip(sums, map(_number, results), strict=False))
    at, cells = f"A{len(table.rows) + 2}", [list(row.values())]
    call = kit.call("write range", path=table.place, sheet=table.name, at=at, rows=cells)
    if call:
        yield from persist(kit, [call])
    return [row]


def _number(text: str) -> float | None:
    """Return the amount that a calculator's answer is, to two decimals."""
    try:
        worth = round(float(text), 2)
    except ValueError:
        return None
    return worth if math.isfinite(worth) else None


# --- values -------------------------------------------------------------------------------


def filled(table: Table, facts: Facts) -> Row:
    """Return a new row of a table, what is not known left empty."""
    links = facts.links(apart=table.name)
    row: Row = {}
    for column in table.rows[0]:
        row[column] = value(column, column, facts, links, table.rows, row)
    return row


def value(
    column: str,
    phrase: str,
    facts: Facts,
    links: Sequence[Link],
    rows: Sequence[Row],
    row: Row | None = None,
) -> Any:
    """Return what a column of a new row holds: counted on, dated, named, linked or worked out."""
    words = stems(column)
    before = [one.get(column) for one in rows]
    if rows and column == next(iter(rows[0])) and _NEXT.search(facts.question):
        numbers = [one for one in before if isinstance(one, int)]
        if numbers:
            return max(numbers) + 1
    day = _DAY.search(f"{facts.question} {facts.seen}")
    if words & _DATED and day:
        return day[0]
    told = re.search(rf"\b{re.escape(column)} ([A-Z0-9][\w-]*\d[\w-]*)", facts.question)
    if told:
        return told[1]
    if words & _NET:
        return _net(facts, links)
    found = facts.look(phrase, links)
    if found is None and words & _WHOLE:
        return total(facts)
    return found


def total(facts: Facts) -> float | None:
    """Return the last amount in the picture that is called a total."""
    found = _TOTAL.findall(facts.seen)
    return float(found[-1].replace(",", ".")) if found else None


def _net(facts: Facts, links: Sequence[Link]) -> Sum | None:
    """Take the tax that is in the total out of it."""
    gross, rate = total(facts), facts.look("tax VAT rate", links)
    if gross is None or not isinstance(rate, int | float) or rate <= -100:
        return None
    return Sum(f"{gross}*100/(100+{rate})")
