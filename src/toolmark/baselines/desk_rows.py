"""Rows of databases and sheets: which are changed or added, and the value of each column."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from toolmark.baselines.desk_facts import Facts, Link, Row, Table
from toolmark.baselines.desk_rounds import CallRounds, call_with_retry
from toolmark.baselines.desk_tools import Toolkit
from toolmark.baselines.text_spans import stem_word, word_stems

_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n+")
_SET_COLUMN = re.compile(
    r"\bset (?:its|the|their) `?(\w+)`? .{0,400}?\bto (.{1,400}?)(?:,|\.$| and |$)"
)
_MARK_AS = re.compile(r"\bmark [^,.]{0,400}? as `?(\w+)`?")
_ADD_RECORD = re.compile(
    r"\b(?:note|add|enter|record|register|book|log)\b(?: (?:the|a|an|this))? (\w+)"
)
_NEW_TABLE = re.compile(r"\bnew table (?:named |called )?`?(\w+)`? with the columns (.+)")
_COLUMN = re.compile(r"(?<![\w`])`?(\w+)`? \((\w+)(?:: ([^)]{0,400}))?\)")
_NEXT_NUMBER = re.compile(r"\b(?:highest|next|numbering|number after|last number|consecutive)\b")
_ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_TOTAL = re.compile(
    r"(?:total|amount due|sum|to pay|balance)\D{0,400}?(\d+[.,]\d\d)\b", re.IGNORECASE
)
_SQL_TYPES = {"text", "integer", "real", "numeric", "blob"}
_DATE_STEMS = word_stems("day date")
_TOTAL_STEMS = word_stems("gross total sum amount paid")
_NET_STEMS = word_stems("net")
_ZERO_WORDS = {"zero", "nought", "nothing"}
_SHEET_ROW = re.compile(r"\brow\b.*?\bsheet `?(\w+)`?", re.IGNORECASE)


class Formula(NamedTuple):
    """A value that the database or a calculator computes."""

    text: str


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


# --- databases ----------------------------------------------------------------------------


def change_rows(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Set or mark columns of the picture's record, and add the requested row."""
    found: list[tuple[str, Row]] = []
    for sentence in split_sentences(facts.question):
        found += _update_queries(sentence, facts) + _insert_queries(sentence, facts)
    calls = [toolkit.best_call("write query insert update", query=query) for query, _ in found]
    possible_calls = [call for call in calls if call]
    if possible_calls:
        yield from call_with_retry(toolkit, possible_calls)
    return [row for _, row in found]


def create_table(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Create the requested table, column by column, and insert its first row."""
    found = _NEW_TABLE.search(facts.question)
    columns = _COLUMN.findall(found[2]) if found else []
    if not found or not columns or not any(table.kind == "rows" for table in facts.tables):
        return []
    kinds = ", ".join(
        f"{quote_identifier(name)} {kind.upper() if kind.lower() in _SQL_TYPES else 'TEXT'}"
        for name, kind, _ in columns
    )
    call = toolkit.best_call(
        "create table", query=f"CREATE TABLE {quote_identifier(found[1])} ({kinds})"
    )
    links = facts.linked_records()
    row = {
        name: column_value(name, f"{name} {more}", facts, links, []) for name, _, more in columns
    }
    query = _insert_query(found[1], row)
    more = toolkit.best_call("write query insert update", query=query)
    if call and more:
        yield from call_with_retry(toolkit, [call])
        yield from call_with_retry(toolkit, [more])
    return [row]


def _update_queries(sentence: str, facts: Facts) -> list[tuple[str, Row]]:
    links = [link for link in facts.linked_records() if link.table.kind == "rows"]
    found = []
    for column, wanted in _SET_COLUMN.findall(sentence):
        target = next((one for one in links if one.in_picture and column in one.row), None)
        if target is not None:
            other_links = [one for one in links if one is not target]
            found.append(
                _update_query(target, column, _wanted_value(wanted, column, facts, other_links))
            )
    for word in _MARK_AS.findall(sentence):
        target, column = _record_using_word(word, [one for one in links if one.in_picture])
        if target is not None:
            found.append(_update_query(target, column, word))
    return found


def _record_using_word(word: str, links: Sequence[Link]) -> tuple[Link | None, str]:
    """Return the record, and its column, in which other rows have this word."""
    for link in links:
        for column in link.row:
            if any(row.get(column) == word for row in link.table.rows):
                return link, column
    return None, ""


def _wanted_value(new_value: str, column: str, facts: Facts, links: Sequence[Link]) -> Any:
    """Return the new value of a column: zero, a number, or a linked record's value of that name.

    A text of blanks states no value, so the linked record's counts then.
    """
    first_word = next(iter(new_value.split()), "")
    if first_word in _ZERO_WORDS:
        return 0
    if re.fullmatch(r"-?\d+(?:\.\d+)?", new_value):
        return float(new_value) if "." in new_value else int(new_value)
    return facts.best_value(column, links)


def _insert_queries(sentence: str, facts: Facts) -> list[tuple[str, Row]]:
    for word in _ADD_RECORD.findall(sentence):
        table = next((one for one in facts.tables if stem_word(one.name) == stem_word(word)), None)
        if table is not None and table.kind == "rows" and table.rows:
            row = make_row(table, facts)
            return [(_insert_query(table.name, row), row)]
    return []


def _insert_query(table: str, row: Row) -> str:
    columns = ", ".join(map(quote_identifier, row))
    cells = ", ".join(map(sql_literal, row.values()))
    return f"INSERT INTO {quote_identifier(table)} ({columns}) VALUES ({cells})"


def _update_query(link: Link, column: str, new_value: Any) -> tuple[str, Row]:
    """Return the query that sets a column of a record, and the changed record."""
    table, key = link.table.name, link.table.key_column
    where = f"{quote_identifier(key)} = {sql_literal(link.row[key])}"
    query = (
        f"UPDATE {quote_identifier(table)} SET {quote_identifier(column)} = "
        f"{sql_literal(new_value)} WHERE {where}"
    )
    return query, {**link.row, column: new_value}


def quote_identifier(name: str) -> str:
    """Return the name of a table or column as quoted in SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_literal(value: Any) -> str:
    """Return a value as an SQL literal; the database computes a Formula."""
    if value is None:
        return "NULL"
    if isinstance(value, Formula):
        return f"ROUND({value.text}, 2)"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


# --- sheets -------------------------------------------------------------------------------


def append_sheet_row(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Add the requested row below the last row of a sheet."""
    found = _SHEET_ROW.search(facts.question)
    table = next((one for one in facts.tables if found and one.name == found[1]), None)
    if table is None or table.kind != "sheet" or not table.rows:
        return []
    row = make_row(table, facts)
    formulas = {name: cell for name, cell in row.items() if isinstance(cell, Formula)}
    calculations = [
        toolkit.best_call("calculate expression", expression=cell.text)
        for cell in formulas.values()
    ]
    results = (
        (yield [call for call in calculations if call])
        if all(calculations) and calculations
        else []
    )
    row |= dict.fromkeys(formulas) | dict(zip(formulas, map(_parse_amount, results), strict=False))
    first_cell, cells = f"A{len(table.rows) + 2}", [list(row.values())]
    call = toolkit.best_call(
        "write range", path=table.place, sheet=table.name, at=first_cell, rows=cells
    )
    if call:
        yield from call_with_retry(toolkit, [call])
    return [row]


def _parse_amount(text: str) -> float | None:
    """Return the amount in a calculator's answer, rounded to two decimals; None if not a number."""
    try:
        amount = round(float(text), 2)
    except ValueError:
        return None
    return amount if math.isfinite(amount) else None


# --- values -------------------------------------------------------------------------------


def make_row(table: Table, facts: Facts) -> Row:
    """Return a new row of a table; unknown values are None."""
    links = facts.linked_records(excluded=table.name)
    row: Row = {}
    for column in table.rows[0]:
        row[column] = column_value(column, column, facts, links, table.rows, row)
    return row


def column_value(
    column: str,
    phrase: str,
    facts: Facts,
    links: Sequence[Link],
    rows: Sequence[Row],
    row: Row | None = None,
) -> Any:
    """Return a column's value in a new row: next number, date, stated, net, linked or total."""
    words = word_stems(column)
    previous_values = [one.get(column) for one in rows]
    if rows and column == next(iter(rows[0])) and _NEXT_NUMBER.search(facts.question):
        numbers = [one for one in previous_values if isinstance(one, int)]
        if numbers:
            return max(numbers) + 1
    day = _ISO_DATE.search(f"{facts.question} {facts.picture_text}")
    if words & _DATE_STEMS and day:
        return day[0]
    stated = re.search(rf"\b{re.escape(column)} ([A-Z0-9][\w-]*\d[\w-]*)", facts.question)
    if stated:
        return stated[1]
    if words & _NET_STEMS:
        return _net_formula(facts, links)
    found = facts.best_value(phrase, links)
    if found is None and words & _TOTAL_STEMS:
        return total_in_picture(facts)
    return found


def total_in_picture(facts: Facts) -> float | None:
    """Return the last amount in the picture that is called a total."""
    found = _TOTAL.findall(facts.picture_text)
    return float(found[-1].replace(",", ".")) if found else None


def _net_formula(facts: Facts, links: Sequence[Link]) -> Formula | None:
    """Return the formula for the total without tax, None if total or tax rate is unknown."""
    gross, rate = total_in_picture(facts), facts.best_value("tax VAT rate", links)
    if gross is None or not isinstance(rate, int | float) or rate <= -100:
        return None
    return Formula(f"{gross}*100/(100+{rate})")
