"""Times on notices and tickets, for people and places in other zones: time, filesystem."""

from __future__ import annotations

import json
import random
from typing import Any

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import invented_names, reference_calls
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.task_item import Arguments, TaskItem, Template


def call_item(rng: random.Random) -> TaskItem:
    """Tell the participants of a call its time on their own clocks."""
    offices = dict(
        zip(
            invented_names.random_towns(rng, 5),
            rng.sample(list(family_words().zones), 5),
            strict=True,
        )
    )
    host, *away = rng.sample(list(offices), 5)
    people = invented_names.random_first_names(rng, 6)
    workplaces = {name: away[index % 4] for index, name in enumerate(people)}
    invited = people[:3]
    start = _start_within_day(
        rng, [_zone_difference(offices[host], offices[workplaces[name]]) for name in invited]
    )
    local = {
        name: start + _zone_difference(offices[host], offices[workplaces[name]]) for name in invited
    }
    first = min(invited, key=lambda name: local[name])
    call_times = {f"calls/{name.lower()}.json": _format_time(local[name]) for name in invited}
    lines = [
        f"{rng.choice(family_words().workdays)}, {_format_time(start)}",
        f"(clock of the {host} office)",
        f"Please join: {', '.join(invited[:2])} and {invited[2]}",
    ]
    return TaskItem(
        template="call",
        question=write_question("clock", "call"),
        picture=pictures.draw_board(
            rng, heading=rng.choice(("Project call", "Team call")), lines=lines
        ),
        picture_name="notice.png",
        files={
            "offices.json": _encode_json(offices),
            "people.json": _encode_json({name: workplaces[name] for name in sorted(people)}),
            "calls/README.txt": b"One file per person.\n",
        },
        steps=(
            (reference_calls.read_file("offices.json"), reference_calls.read_file("people.json")),
            tuple(
                _convert_time(start, offices[host], offices[workplaces[name]]) for name in invited
            ),
            tuple(
                reference_calls.write_file(path, f'{{"time": "{moment}"}}\n')
                for path, moment in call_times.items()
            ),
        ),
        expected_state={path: {"json": {"time": moment}} for path, moment in call_times.items()},
        answer_form="name, HH:MM",
        answer_parts=(first, _format_time(local[first])),
        wrong_values=tuple(people),
    )


def flight_item(rng: random.Random) -> TaskItem:
    """Calculate from a ticket how long a flight takes, and its landing time on the home clock."""
    codes = sorted({invented_names.random_code(rng, "AAA") for _ in range(9)})
    towns = invented_names.random_towns(rng, len(codes))
    zones = dict(zip(codes, rng.sample(list(family_words().zones), len(codes)), strict=True))
    depart, arrive = rng.sample(codes, 2)
    home = rng.choice(
        [zone for zone in family_words().zones if zone not in (zones[depart], zones[arrive])]
    )
    # Together with the zone difference less than a day.
    air = 5 * rng.randint(12, 46)
    gap = _zone_difference(zones[depart], zones[arrive])
    back = _zone_difference(zones[arrive], home)
    start = _start_within_day(rng, [gap, gap + air, gap + air + back])
    land = start + gap + air
    ticket = {
        "Passenger": invented_names.random_people(rng, 1)[0],
        "Flight": invented_names.random_code(rng, "AA 999"),
        "From": depart,
        "To": arrive,
        "Departs": _format_time(start),
        "Arrives": _format_time(land),
    }
    spans = (
        f"In the air: {air // 60}:{air % 60:02}",
        f"Landing, home time: {_format_time(land + back)}",
    )
    trip = f"# Trip\n\nHome: {home}\n{{}}\n{{}}\nBags: {rng.randint(1, 3)}\n"
    open_places = ("In the air: ?", "Landing, home time: ?")
    table = [f"{code},{town},{zones[code]}" for code, town in zip(codes, towns, strict=True)]
    return TaskItem(
        template="flight",
        question=write_question("clock", "flight"),
        picture=pictures.draw_ticket(rng, fields=ticket),
        picture_name="ticket.png",
        files={
            "airports.csv": "\n".join(["code,town,zone", *table, ""]).encode(),
            "trip.md": trip.format(*open_places).encode(),
        },
        steps=(
            (reference_calls.read_file("airports.csv"), reference_calls.read_file("trip.md")),
            (
                _convert_time(start, zones[depart], zones[arrive]),
                _convert_time(land, zones[arrive], home),
            ),
            (_edit_file("trip.md", dict(zip(open_places, spans, strict=True))),),
        ),
        expected_state={"trip.md": {"text": {"contains": [trip.format(*spans).strip()]}}},
        answer_form="H:MM",
        answer_parts=(f"{air // 60}:{air % 60:02}",),
    )


def quiet_item(rng: random.Random) -> TaskItem:
    """Set the quiet hours of the sites on a notice, each in its local time."""
    sites = dict(
        zip(
            invented_names.random_towns(rng, 6),
            rng.sample(list(family_words().zones), 6),
            strict=True,
        )
    )
    host, *affected = rng.sample(list(sites), 3)
    duration_min = 15 * rng.randint(3, 14)
    gaps = [_zone_difference(sites[host], sites[site]) for site in affected]
    start = _start_within_day(rng, [*gaps, *(gap + duration_min for gap in gaps), duration_min])
    times = {
        site: f"{_format_time(start + gap)}-{_format_time(start + gap + duration_min)}"
        for site, gap in zip(affected, gaps, strict=True)
    }
    lines = [
        f"{rng.choice(family_words().workdays)} {_format_time(start)} to "
        f"{_format_time(start + duration_min)}",
        f"by the clock in {host}",
        f"Affected: {' and '.join(affected)}",
    ]
    before = {site: {"zone": zone, "quiet": None} for site, zone in sites.items()}
    after = {site: {**old, "quiet": times.get(site)} for site, old in before.items()}
    return TaskItem(
        template="quiet",
        question=write_question("clock", "quiet"),
        picture=pictures.draw_board(
            rng, heading=rng.choice(("Power cut", "Maintenance")), lines=lines
        ),
        picture_name="notice.png",
        files={_site_path(site): _encode_json(old) for site, old in before.items()},
        steps=(
            tuple(reference_calls.read_file(_site_path(site)) for site in (host, *affected)),
            tuple(
                _convert_time(moment, sites[host], sites[site])
                for site in affected
                for moment in (start, start + duration_min)
            ),
            tuple(
                _edit_file(_site_path(site), {'"quiet": null': f'"quiet": "{times[site]}"'})
                for site in affected
            ),
        ),
        expected_state={_site_path(site): {"json": content} for site, content in after.items()},
        answer_form="HH:MM-HH:MM, HH:MM-HH:MM",
        answer_parts=tuple(moment for span in times.values() for moment in span.split("-")),
    )


def _zone_difference(here: str, there: str) -> int:
    """Return by how many minutes the clock there is ahead of the clock here."""
    zones = family_words().zones
    return zones[there] - zones[here]


def _start_within_day(rng: random.Random, shifts: list[int]) -> int:
    """Return a minute of the day that stays within that day after each shift."""
    low, high = max(0, -min(shifts)), 1439 - max(0, *shifts)
    if low > high:
        raise ValueError(f"no moment of a day stays within it after {shifts}")
    return 5 * rng.randint(-(-low // 5), high // 5)


def _format_time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _site_path(name: str) -> str:
    return f"sites/{name.lower()}.json"


def _encode_json(value: Any) -> bytes:
    return f"{json.dumps(value, indent=2)}\n".encode()


def _edit_file(path: str, changes: dict[str, str]) -> tuple[str, Arguments]:
    edits = [{"oldText": old, "newText": new} for old, new in changes.items()]
    return "filesystem/edit_file", {"path": f"/workspace/{path}", "edits": edits}


def _convert_time(minutes: int, here: str, there: str) -> tuple[str, Arguments]:
    return (
        "time/convert_time",
        {"source_timezone": here, "time": _format_time(minutes), "target_timezone": there},
    )


TEMPLATES: tuple[Template, ...] = (call_item, flight_item, quiet_item)
