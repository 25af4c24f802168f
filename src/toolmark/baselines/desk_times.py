"""Times in the picture, given in one time zone: converted for others, then written to files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from toolmark.baselines import desk_text_files
from toolmark.baselines.desk_facts import Facts, Link, contains_value, flatten_words, parse_json
from toolmark.baselines.desk_rounds import CallRounds, call_with_retry
from toolmark.baselines.desk_tools import Toolkit
from toolmark.core.records import Call

_CLOCK_TIME = re.compile(r"\b([01]?\d|2[0-3])[:.]([0-5]\d)\b")
_ZONE_NAME = re.compile(r"[A-Z]\w+(?:/[A-Z][\w+-]+)+")
_CLOCK_OWNER = re.compile(r"\b(?:clock|time)s? (?:of|in|at|on) (?:the )?(.{3,40})", re.IGNORECASE)
_CONVERTED_TIME = re.compile(r"T(\d\d:\d\d)")
_OBJECT_KEY = re.compile(r"object with the key `?(\w+)`?")
_SET_KEY = re.compile(r"\bset `?(\w+)`? in its file")


def convert_times(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Convert the picture's times for everybody it names, and write each to its file."""
    times = [f"{int(hour):02}:{minute}" for hour, minute in _CLOCK_TIME.findall(facts.picture_text)]
    links = facts.linked_records()
    picture_links = [link for link in links if link.in_picture]
    host = _clock_host(picture_links, facts.picture_text)
    targets = [x for x in picture_links if host is None or x.row is not host.row]
    zones = {record_name(x): record_zone(x, facts) for x in targets}
    zones = {target_name: zone_name for target_name, zone_name in zones.items() if zone_name}
    source = record_zone(host, facts) if host else ""
    conversions = [(target_name, at) for target_name in zones for at in times]
    calls = [
        _convert_call(toolkit, source, at, zones[target_name]) for target_name, at in conversions
    ]
    possible_calls = [call for call in calls if call]
    if not source or not possible_calls or len(possible_calls) < len(calls):
        return []
    times_by_name: dict[str, list[str]] = {}
    for (target_name, _), text in zip(conversions, (yield possible_calls), strict=False):
        times_by_name.setdefault(target_name, []).append(_converted_time(text))
    spans = {target_name: "-".join(found) for target_name, found in times_by_name.items()}
    writes = [
        _write_time_call(toolkit, facts, x, spans[record_name(x)])
        for x in targets
        if record_name(x) in spans
    ]
    write_calls = [call for call in writes if call]
    if write_calls:
        yield from call_with_retry(toolkit, write_calls, desk_text_files.new_file_path(facts, "x"))
    sorted_spans = sorted(spans.items(), key=lambda one: one[1])
    return [{"name": target_name, "HH:MM": span} for target_name, span in sorted_spans]


def record_name(link: Link) -> str:
    """Return the name of a record: the value of its first column."""
    return str(link.row.get(link.table.key_column, ""))


def record_zone(link: Link, facts: Facts) -> str:
    """Return the time zone in a record, or in a record that it links to."""
    rows: list[dict[str, Any]] = [link.row]
    for row in rows[:]:
        for table in facts.tables:
            rows += [
                x for x in table.rows if x is not row and x.get(table.key_column) in row.values()
            ]
    values = [value for row in rows for value in row.values() if isinstance(value, str)]
    return next((value for value in values if _ZONE_NAME.fullmatch(value)), "")


def _clock_host(links: Sequence[Link], picture_text: str) -> Link | None:
    """Return the record by whose clock the picture gives its times."""
    phrase = _CLOCK_OWNER.search(picture_text.replace("\n", " "))
    phrase_words = flatten_words(phrase[1]) if phrase else ""
    mentioned = [link for link in links if contains_value(record_name(link), phrase_words)]
    return min(
        mentioned,
        key=lambda link: phrase_words.index(flatten_words(record_name(link))),
        default=None,
    )


def _convert_call(toolkit: Toolkit, source: str, at: str, target: str) -> Call | None:
    arguments = {"source_timezone": source, "time": at, "target_timezone": target}
    return toolkit.best_call("convert time", **arguments)


def _converted_time(text: str) -> str:
    """Return the time of day that a conversion returned, the last one in its text."""
    found = _CONVERTED_TIME.findall(text)
    content = parse_json(text)
    if isinstance(content, dict) and isinstance(content.get("target"), dict):
        found = _CONVERTED_TIME.findall(json.dumps(content["target"]))
    return found[-1] if found else ""


def _write_time_call(toolkit: Toolkit, facts: Facts, link: Link, span: str) -> Call | None:
    """Return the call that writes a time to the record's own file, or to a new one for it."""
    key, text = _SET_KEY.search(facts.question), facts.texts.get(link.table.place, "")
    current = re.search(rf'"{key[1]}":\s*[^,\n}}]+', text) if key else None
    if key and current:
        edits = [{"oldText": current[0], "newText": f'"{key[1]}": {json.dumps(span)}'}]
        return toolkit.best_call("edit file", path=link.table.place, edits=edits)
    path = desk_text_files.new_file_path(facts, record_name(link))
    if not path:
        return None
    shape = _OBJECT_KEY.search(facts.question)
    content = json.dumps({shape[1]: span}) if shape else span
    return toolkit.best_call("write file", path=path, content=f"{content}\n")
