"""Times on notices and tickets, for people and places in other zones: time, filesystem."""

from __future__ import annotations

import json
import random
from typing import Any

from toolmark.suites.m3.local import scenes
from toolmark.suites.m3.local.families import calls, words
from toolmark.suites.m3.local.item import Arguments, Item, Template

# zones that have no summer time: the server converts on today's date; minutes ahead of UTC
_ZONES = {
    "Pacific/Honolulu": -600, "America/Phoenix": -420, "America/Bogota": -300,
    "America/Puerto_Rico": -240, "Atlantic/Cape_Verde": -60, "Africa/Abidjan": 0,
    "Africa/Lagos": 60, "Africa/Johannesburg": 120, "Africa/Nairobi": 180, "Asia/Dubai": 240,
    "Asia/Kolkata": 330, "Asia/Kathmandu": 345, "Asia/Dhaka": 360, "Asia/Bangkok": 420,
    "Asia/Singapore": 480, "Asia/Tokyo": 540, "Australia/Brisbane": 600,
}  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")

_CALL = (
    "This hangs in our office. The offices and their time zones are in offices.json, where each of "
    "us works is in people.json. For everybody who is asked to join please write a file "
    "calls/NAME.json (the name in lower case) that holds one object with the key time: when the "
    'call is on that person\'s own clock, as "HH:MM". Whose clock will show the earliest time, and '
    "which?"
)
_FLIGHT = (
    "I am booked on this; its times are those of the clocks on the spot. airports.csv has the time "
    "zones of the airports. Please fill in the two open places, and nothing else, in trip.md: how "
    "long I am in the air (under a day), as H:MM, and what the clock at home shows when I land, as "
    "HH:MM. How long is the flight?"
)
_QUIET = (
    "Please see to what this notice says. Each site has a file in the folder sites, named after it "
    "in lower case, with its time zone. For every site that is affected set quiet in its file to "
    'the hours on that site\'s own clock, as "HH:MM-HH:MM", and leave the other sites alone. Tell '
    "me the hours."
)


def call(rng: random.Random) -> Item:
    """Tell those who are asked to a call when it is on their own clocks."""
    offices = dict(zip(words.towns(rng, 5), rng.sample(list(_ZONES), 5), strict=True))
    host, *away = rng.sample(list(offices), 5)
    people = words.first(rng, 6)
    works = {name: away[index % 4] for index, name in enumerate(people)}
    asked = people[:3]
    start = _within(rng, [_gap(offices[host], offices[works[name]]) for name in asked])
    local = {name: start + _gap(offices[host], offices[works[name]]) for name in asked}
    first = min(asked, key=lambda name: local[name])
    told = {f"calls/{name.lower()}.json": _hm(local[name]) for name in asked}
    lines = [
        f"{rng.choice(_DAYS)}, {_hm(start)}",
        f"(clock of the {host} office)",
        f"Please join: {', '.join(asked[:2])} and {asked[2]}",
    ]
    return Item(
        template="call",
        question=_CALL,
        picture=scenes.board(rng, heading=rng.choice(("Project call", "Team call")), lines=lines),
        name="notice.png",
        files={
            "offices.json": _json(offices),
            "people.json": _json({name: works[name] for name in sorted(people)}),
            "calls/README.txt": b"One file per person.\n",
        },
        steps=(
            (calls.read("offices.json"), calls.read("people.json")),
            tuple(_convert(start, offices[host], offices[works[name]]) for name in asked),
            tuple(calls.write(path, f'{{"time": "{said}"}}\n') for path, said in told.items()),
        ),
        expects={path: {"json": {"time": said}} for path, said in told.items()},
        form="name, HH:MM",
        answer=(first, _hm(local[first])),
        rivals=tuple(people),
    )


def flight(rng: random.Random) -> Item:
    """Work out from a ticket how long a flight is, and when it lands by the clock at home."""
    codes = sorted({words.code(rng, "AAA") for _ in range(9)})
    towns = words.towns(rng, len(codes))
    zones = dict(zip(codes, rng.sample(list(_ZONES), len(codes)), strict=True))
    depart, arrive = rng.sample(codes, 2)
    home = rng.choice([zone for zone in _ZONES if zone not in (zones[depart], zones[arrive])])
    air = 5 * rng.randint(12, 46)  # with the zones apart still less than a day
    gap, back = _gap(zones[depart], zones[arrive]), _gap(zones[arrive], home)
    start = _within(rng, [gap, gap + air, gap + air + back])
    land = start + gap + air
    ticket = {
        "Passenger": words.people(rng, 1)[0], "Flight": words.code(rng, "AA 999"),
        "From": depart, "To": arrive, "Departs": _hm(start), "Arrives": _hm(land),
    }  # fmt: skip
    spans = f"In the air: {air // 60}:{air % 60:02}", f"Landing, home time: {_hm(land + back)}"
    trip = f"# Trip\n\nHome: {home}\n{{}}\n{{}}\nBags: {rng.randint(1, 3)}\n"
    opened = ("In the air: ?", "Landing, home time: ?")
    table = [f"{code},{town},{zones[code]}" for code, town in zip(codes, towns, strict=True)]
    return Item(
        template="flight",
        question=_FLIGHT,
        picture=scenes.ticket(rng, fields=ticket),
        name="ticket.png",
        files={
            "airports.csv": "\n".join(["code,town,zone", *table, ""]).encode(),
            "trip.md": trip.format(*opened).encode(),
        },
        steps=(
            (calls.read("airports.csv"), calls.read("trip.md")),
            (
                _convert(start, zones[depart], zones[arrive]),
                _convert(land, zones[arrive], home),
            ),
            (_edit("trip.md", dict(zip(opened, spans, strict=True))),),
        ),
        expects={"trip.md": {"text": {"contains": [trip.format(*spans).strip()]}}},
        form="H:MM",
        answer=(f"{air // 60}:{air % 60:02}",),
    )


def quiet(rng: random.Random) -> Item:
    """Set the quiet hours of the sites that a notice names, each by its own clock."""
    sites = dict(zip(words.towns(rng, 6), rng.sample(list(_ZONES), 6), strict=True))
    host, *touched = rng.sample(list(sites), 3)
    long = 15 * rng.randint(3, 14)
    gaps = [_gap(sites[host], sites[site]) for site in touched]
    start = _within(rng, [*gaps, *(gap + long for gap in gaps), long])
    times = {
        site: f"{_hm(start + gap)}-{_hm(start + gap + long)}"
        for site, gap in zip(touched, gaps, strict=True)
    }
    lines = [
        f"{rng.choice(_DAYS)} {_hm(start)} to {_hm(start + long)}",
        f"by the clock in {host}",
        f"Affected: {' and '.join(touched)}",
    ]
    held = {site: {"zone": zone, "quiet": None} for site, zone in sites.items()}
    after = {site: {**old, "quiet": times.get(site)} for site, old in held.items()}
    return Item(
        template="quiet",
        question=_QUIET,
        picture=scenes.board(rng, heading=rng.choice(("Power cut", "Maintenance")), lines=lines),
        name="notice.png",
        files={_site(site): _json(old) for site, old in held.items()},
        steps=(
            tuple(calls.read(_site(site)) for site in (host, *touched)),
            tuple(
                _convert(moment, sites[host], sites[site])
                for site in touched
                for moment in (start, start + long)
            ),
            tuple(
                _edit(_site(site), {'"quiet": null': f'"quiet": "{times[site]}"'})
                for site in touched
            ),
        ),
        expects={_site(site): {"json": kept} for site, kept in after.items()},
        form="HH:MM-HH:MM, HH:MM-HH:MM",
        answer=tuple(moment for span in times.values() for moment in span.split("-")),
    )


def _gap(here: str, there: str) -> int:
    """Return the minutes that the clock there is ahead of the one here."""
    return _ZONES[there] - _ZONES[here]


def _within(rng: random.Random, shifts: list[int]) -> int:
    """Return a minute of the day that stays within it after each shift."""
    low, high = max(0, -min(shifts)), 1439 - max(0, *shifts)
    if low > high:
        raise ValueError(f"no moment of a day stays within it after {shifts}")
    return 5 * rng.randint(-(-low // 5), high // 5)


def _hm(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _site(name: str) -> str:
    return f"sites/{name.lower()}.json"


def _json(value: Any) -> bytes:
    return f"{json.dumps(value, indent=2)}\n".encode()


def _edit(path: str, changes: dict[str, str]) -> tuple[str, Arguments]:
    edits = [{"oldText": old, "newText": new} for old, new in changes.items()]
    return "filesystem/edit_file", {"path": f"/workspace/{path}", "edits": edits}


def _convert(minutes: int, here: str, there: str) -> tuple[str, Arguments]:
    return (
        "time/convert_time",
        {"source_timezone": here, "time": _hm(minutes), "target_timezone": there},
    )


TEMPLATES: tuple[Template, ...] = (call, flight, quiet)
