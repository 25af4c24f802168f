"""Times in the picture by the clocks of others: converted, then written where they belong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from toolmark.models.baselines import desk_text
from toolmark.models.baselines.desk_facts import Facts, Link, flat, loaded, says
from toolmark.models.baselines.desk_kit import Kit
from toolmark.models.baselines.desk_work import Work, persist
from toolmark.types import Call

_CLOCK = re.compile(r"\b([01]?\d|2[0-3])[:.]([0-5]\d)\b")
_ZONE = re.compile(r"[A-Z]\w+(?:/[A-Z][\w+-]+)+")
_HERE = re.compile(r"\b(?:clock|time)s? (?:of|in|at|on) (?:the )?(.{3,40})", re.IGNORECASE)
_THERE = re.compile(r"T(\d\d:\d\d)")
_OBJECT = re.compile(r"object with the key `?(\w+)`?")
_SET = re.compile(r"\bset `?(\w+)`? in its file")


def convert(kit: Kit, facts: Facts) -> Work:
    """Convert the picture's times for everybody it names, and write each where it belongs."""
    times = [f"{int(hour):02}:{minute}" for hour, minute in _CLOCK.findall(facts.seen)]
    links = facts.links()
    named = [link for link in links if link.seen]
    here = _host(named, facts.seen)
    others = [x for x in named if here is None or x.row is not here.row]
    zones = {name(x): zone(x, facts) for x in others}
    zones = {who: there for who, there in zones.items() if there}
    source = zone(here, facts) if here else ""
    asked = [(who, at) for who in zones for at in times]
    calls = [_call(kit, source, at, zones[who]) for who, at in asked]
    made = [call for call in calls if call]
    if not source or not made or len(made) < len(calls):
        return []
    told: dict[str, list[str]] = {}
    for (who, _), text in zip(asked, (yield made), strict=False):
        told.setdefault(who, []).append(_told(text))
    spans = {who: "-".join(found) for who, found in told.items()}
    writes = [_write(kit, facts, x, spans[name(x)]) for x in others if name(x) in spans]
    ready = [call for call in writes if call]
    if ready:
        yield from persist(kit, ready, desk_text.place(facts, "x"))
    first = sorted(spans.items(), key=lambda one: one[1])
    return [{"name": who, "HH:MM": span} for who, span in first]


def name(link: Link) -> str:
    """Return what a record is called: its first column."""
    return str(link.row.get(link.table.key, ""))


def zone(link: Link, facts: Facts) -> str:
    """Return the time zone that a record holds, or one that it leads to."""
    rows: list[dict[str, Any]] = [link.row]
    for row in rows[:]:
        for table in facts.tables:
            rows += [x for x in table.rows if x is not row and x.get(table.key) in row.values()]
    values = [value for row in rows for value in row.values() if isinstance(value, str)]
    return next((value for value in values if _ZONE.fullmatch(value)), "")


def _host(links: Sequence[Link], seen: str) -> Link | None:
    """Return the record by whose clock the picture says that its times are."""
    said = _HERE.search(seen.replace("\n", " "))
    told = flat(said[1]) if said else ""
    named = [link for link in links if says(name(link), told)]
    return min(named, key=lambda link: told.index(flat(name(link))), default=None)


def _call(kit: Kit, source: str, at: str, target: str) -> Call | None:
    given = {"source_timezone": source, "time": at, "target_timezone": target}
    return kit.call("convert time", **given)


def _told(text: str) -> str:
    """Return the time of day that a conversion came to, the last one it tells."""
    found = _THERE.findall(text)
    held = loaded(text)
    if isinstance(held, dict) and isinstance(held.get("target"), dict):
        found = _THERE.findall(json.dumps(held["target"]))
    return found[-1] if found else ""


def _write(kit: Kit, facts: Facts, link: Link, span: str) -> Call | None:
    """Return the call that puts a time into the record's own file, or into a new one for it."""
    key, text = _SET.search(facts.question), facts.texts.get(link.table.place, "")
    held = re.search(rf'"{key[1]}":\s*[^,\n}}]+', text) if key else None
    if key and held:
        edits = [{"oldText": held[0], "newText": f'"{key[1]}": {json.dumps(span)}'}]
        return kit.call("edit file", path=link.table.place, edits=edits)
    path = desk_text.place(facts, name(link))
    if not path:
        return None
    shape = _OBJECT.search(facts.question)
    content = json.dumps({shape[1]: span}) if shape else span
    return kit.call("write file", path=path, content=f"{content}\n")
