"""A filled-in form changes what is remembered: a graph of people and places, and files."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.suites.m3.local import scenes
from toolmark.suites.m3.local.families import calls, words
from toolmark.suites.m3.local.item import Item, Template
from toolmark.suites.m3.local.servers import GRAPH

_PLANS = ("copper", "granite", "maple", "velvet")
_PLACES = ("North gate", "Old harbour", "Mill bridge", "East tower", "Salt store", "Glass house")
_COMPANIES = ("Aldermoor", "Bexhill Parts", "Corvane", "Dunlow Works", "Estmark", "Fennick Tools")
_ROLES = ("Lead", "Second", "Third", "Reserve", "Driver", "Radio")

_VISITOR = """The form in the picture was filled in at our door. Add the visitor to what we \
remember: an entity of the type `visitor`, named as on the form, with the two observations \
`company: ...` and `badge: ...` in this order, filled in from the form; and a relation `visits` \
from the visitor to the member of staff who sits in the room on the form, which is among what we \
remember of each as `room: ...`. Also leave a file in the folder `desk`, named by the badge and \
ending in `.txt`, which says in one line: the visitor's name, the word `visits`, the host's name. \
Who is the host?"""

_CHANGE = """Somebody handed in the form in the picture. Bring what we remember of this customer \
up to date: the old `phone: ...` is to go, the new one to be added in the same form, and \
everything else to stay as it is. Then write to the customer: `letters` has a text for each plan, \
named by the plan and ending in `.txt`. Put the customer's name for `NAME` and the new number for \
`PHONE`, and save it in the folder `outbox`, named by the customer's number and ending in `.txt`. \
What is the customer's name?"""

_WATCH = """The picture shows who is on watch tonight. Add each of them to what we remember: an \
entity of the type `guard`, named as in the picture, with one observation `licence: ...`. The \
licence stands in the folder `people`, in a file for each person, named by the family name in \
small letters and ending in `.txt`. Then add a relation `guards` from each of them to the station \
where they are; we remember stations by their codes, each with its place. Tell me the station's \
code and the three licences."""

# The server reads and writes its whole file in every call, so of the calls that change the graph
# no two are in one step.


def visitor(rng: random.Random) -> Item:
    """A visitor's form tells a room; who sits there is among what is remembered."""
    name, *staff = words.people(rng, 6)
    rooms = [f"{rng.choice('ABC')} {number}" for number in rng.sample(range(101, 400), 5)]
    known = [
        _entity(who, "staff", f"phone: {phone}", f"room: {room}")
        for who, phone, room in zip(staff, rng.sample(range(20, 99), 5), rooms, strict=True)
    ]
    place = rng.randrange(5)
    host, room = staff[place], rooms[place]
    company, badge = rng.choice(_COMPANIES), words.code(rng, "A-999")
    made = _entity(name, "visitor", f"company: {company}", f"badge: {badge}")
    tie = _relation(name, "visits", host)
    fields = {"Name": name, "Company": company, "Badge no.": badge, "To see room": room}
    path, line = f"desk/{badge}.txt", f"{name} visits {host}"
    return Item(
        template="visitor",
        question=_VISITOR,
        picture=scenes.form(rng, title="Visitors", fields=_mixed(rng, fields)),
        name="form.png",
        steps=[
            [calls.search(f"room: {room}")],
            [("memory/create_entities", {"entities": [made]}), calls.write(path, f"{line}\n")],
            [("memory/create_relations", {"relations": [tie]})],
        ],
        expects={
            GRAPH: {"json": _remembered(known, [made], [tie])},
            path: {"text": {"contains": [line]}},
        },
        form="name of the host",
        answer=(host,),
        rivals=tuple(staff),
        files={GRAPH: _graph(known), "desk/README.txt": b"One file for each visitor.\n"},
    )


def change(rng: random.Random) -> Item:
    """A customer has a new number: the old one goes, and a letter by the customer's plan is due."""
    *phones, new = _phones(rng, 6)
    codes = [f"C-{number}" for number in rng.sample(range(1000, 9999), 5)]
    plans = [rng.choice(_PLANS) for _ in codes]
    rows = list(zip(words.people(rng, 5), codes, phones, plans, strict=True))
    mine = rng.randrange(5)
    name, code, old, plan = rows[mine]
    known = [_entity(n, "customer", *_told(c, p, f"phone: {t}")) for n, c, t, p in rows]
    after = known.copy()
    after[mine] = _entity(name, "customer", f"number: {code}", f"plan: {plan}", f"phone: {new}")
    letters = {kind: f"Hello NAME,\nyour {kind} plan now runs on PHONE.\n" for kind in _PLANS}
    letter = letters[plan].replace("NAME", name).replace("PHONE", new)
    fields = {"Customer no.": code, "New phone": new, "Valid": "at once"}
    return Item(
        template="change",
        question=_CHANGE,
        picture=scenes.form(rng, title="Change of details", fields=_mixed(rng, fields)),
        name="form.png",
        steps=[
            [calls.search(code)],
            [_forget(name, f"phone: {old}"), calls.read(f"letters/{plan}.txt")],
            [_add(name, f"phone: {new}"), calls.write(f"outbox/{code}.txt", letter)],
        ],
        expects={
            GRAPH: {"json": _remembered(after)},
            f"outbox/{code}.txt": {"text": {"contains": [letter.strip()]}},
        },
        form="name of the customer",
        answer=(name,),
        rivals=tuple(row[0] for row in rows),
        files={
            GRAPH: _graph(known),
            "outbox/README.txt": b"Letters that are to be sent.\n",
            **{f"letters/{kind}.txt": text.encode() for kind, text in letters.items()},
        },
    )


def watch(rng: random.Random) -> Item:
    """Three people are on watch at a place: their files and the place's code are to be joined."""
    papers = {name: words.code(rng, "AA-999") for name in words.people(rng, 6)}
    crew = list(papers)[:3]
    codes = [f"ST-{number}" for number in rng.sample(range(10, 99), 4)]
    places = rng.sample(_PLACES, 4)
    known = [
        _entity(code, "station", f"place: {place}")
        for code, place in zip(codes, places, strict=True)
    ]
    mine = rng.randrange(4)
    made = [_entity(name, "guard", f"licence: {papers[name]}") for name in crew]
    ties = [_relation(name, "guards", codes[mine]) for name in crew]
    roles = zip(rng.sample(_ROLES, 3), crew, strict=True)
    return Item(
        template="watch",
        question=_WATCH,
        picture=scenes.form(
            rng, title="Night watch", fields={"Place": places[mine], **dict(roles)}
        ),
        name="watch.png",
        steps=[
            [*(calls.read(_file(name)) for name in crew), calls.search(places[mine])],
            [("memory/create_entities", {"entities": made})],
            [("memory/create_relations", {"relations": ties})],
        ],
        expects={GRAPH: {"json": _remembered(known, made, ties)}},
        form="code of the station, licence, licence, licence",
        answer=(codes[mine], *(papers[name] for name in crew)),
        files={
            GRAPH: _graph(known),
            **{_file(name): f"{name}\nLicence: {held}\n".encode() for name, held in papers.items()},
        },
    )


TEMPLATES: tuple[Template, ...] = (visitor, change, watch)


# --- the graph --------------------------------------------------------------------------


def _entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def _relation(start: str, kind: str, end: str) -> dict[str, Any]:
    return {"from": start, "to": end, "relationType": kind}


def _forget(name: str, observation: str) -> calls.Call:
    deletions = [{"entityName": name, "observations": [observation]}]
    return "memory/delete_observations", {"deletions": deletions}


def _add(name: str, observation: str) -> calls.Call:
    observations = [{"entityName": name, "contents": [observation]}]
    return "memory/add_observations", {"observations": observations}


def _lines(kind: str, held: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": kind, **one} for one in held]


def _graph(entities: Sequence[Mapping[str, Any]]) -> bytes:
    lines = _lines("entity", entities)
    return "\n".join(json.dumps(one, separators=(",", ":")) for one in lines).encode()


def _remembered(
    known: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any]] = (),
    relations: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the lines that the graph's file must have, and no others, in whatever order.

    In which order observations stand is left open for what was known before.
    """
    loose = [{**one, "observations": {"unordered": one["observations"]}} for one in known]
    lines = (*_lines("entity", [*loose, *made]), *_lines("relation", relations))
    return {"unordered": list(lines)}


# --- the rest ---------------------------------------------------------------------------


def _mixed(rng: random.Random, fields: Mapping[str, str]) -> dict[str, str]:
    return dict(rng.sample(list(fields.items()), len(fields)))


def _told(code: str, plan: str, phone: str) -> tuple[str, str, str]:
    """Return a customer's observations, the phone among them."""
    return f"number: {code}", phone, f"plan: {plan}"


def _phones(rng: random.Random, n: int) -> list[str]:
    areas, lines = rng.sample(range(300, 700), n), rng.sample(range(10000, 99999), n)
    return [f"0{area} {line}" for area, line in zip(areas, lines, strict=True)]


def _file(name: str) -> str:
    return f"people/{name.split()[-1].lower()}.txt"
