"""A filled-in form changes the memory graph of people and places, and files."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import invented_names, reference_calls
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.server_configuration import GRAPH_FILE
from toolmark.suites.m3.local.task_item import TaskItem, Template

# The server reads and writes its whole file in every call, so no step has two calls that change the
# graph.


def visitor_item(rng: random.Random) -> TaskItem:
    """Enter a visitor from a form; the memory graph names the occupant of the room to see."""
    name, *staff = invented_names.random_people(rng, 6)
    rooms = [f"{rng.choice('ABC')} {number}" for number in rng.sample(range(101, 400), 5)]
    known = [
        _make_entity(who, "staff", f"phone: {phone}", f"room: {room}")
        for who, phone, room in zip(staff, rng.sample(range(20, 99), 5), rooms, strict=True)
    ]
    place = rng.randrange(5)
    host, room = staff[place], rooms[place]
    company, badge = rng.choice(family_words().companies), invented_names.random_code(rng, "A-999")
    new_entity = _make_entity(name, "visitor", f"company: {company}", f"badge: {badge}")
    new_relation = _make_relation(name, "visits", host)
    fields = {"Name": name, "Company": company, "Badge no.": badge, "To see room": room}
    path, line = f"desk/{badge}.txt", f"{name} visits {host}"
    return TaskItem(
        template="visitor",
        question=write_question("note", "visitor"),
        picture=pictures.draw_form(rng, title="Visitors", fields=_shuffle_fields(rng, fields)),
        picture_name="form.png",
        steps=[
            [reference_calls.search_memory(f"room: {room}")],
            [
                ("memory/create_entities", {"entities": [new_entity]}),
                reference_calls.write_file(path, f"{line}\n"),
            ],
            [("memory/create_relations", {"relations": [new_relation]})],
        ],
        expected_state={
            GRAPH_FILE: {"json": _expect_graph(known, [new_entity], [new_relation])},
            path: {"text": {"contains": [line]}},
        },
        answer_form="name of the host",
        answer_parts=(host,),
        wrong_values=tuple(staff),
        files={
            GRAPH_FILE: _encode_graph(known),
            "desk/README.txt": b"One file for each visitor.\n",
        },
    )


def change_item(rng: random.Random) -> TaskItem:
    """Replace a customer's phone number, and write the letter that the customer's plan requires."""
    *phones, new = _random_phones(rng, 6)
    codes = [f"C-{number}" for number in rng.sample(range(1000, 9999), 5)]
    plans = [rng.choice(family_words().plan_names) for _ in codes]
    rows = list(zip(invented_names.random_people(rng, 5), codes, phones, plans, strict=True))
    customer_index = rng.randrange(5)
    name, code, old, plan = rows[customer_index]
    known = [
        _make_entity(n, "customer", *_customer_observations(c, p, f"phone: {t}"))
        for n, c, t, p in rows
    ]
    after = known.copy()
    after[customer_index] = _make_entity(
        name, "customer", f"number: {code}", f"plan: {plan}", f"phone: {new}"
    )
    letters = {
        kind: f"Hello NAME,\nyour {kind} plan now runs on PHONE.\n"
        for kind in family_words().plan_names
    }
    letter = letters[plan].replace("NAME", name).replace("PHONE", new)
    fields = {"Customer no.": code, "New phone": new, "Valid": "at once"}
    return TaskItem(
        template="change",
        question=write_question("note", "change"),
        picture=pictures.draw_form(
            rng, title="Change of details", fields=_shuffle_fields(rng, fields)
        ),
        picture_name="form.png",
        steps=[
            [reference_calls.search_memory(code)],
            [
                _delete_observation(name, f"phone: {old}"),
                reference_calls.read_file(f"letters/{plan}.txt"),
            ],
            [
                _add_observation(name, f"phone: {new}"),
                reference_calls.write_file(f"outbox/{code}.txt", letter),
            ],
        ],
        expected_state={
            GRAPH_FILE: {"json": _expect_graph(after)},
            f"outbox/{code}.txt": {"text": {"contains": [letter.strip()]}},
        },
        answer_form="name of the customer",
        answer_parts=(name,),
        wrong_values=tuple(row[0] for row in rows),
        files={
            GRAPH_FILE: _encode_graph(known),
            "outbox/README.txt": b"Letters that are to be sent.\n",
            **{f"letters/{kind}.txt": text.encode() for kind, text in letters.items()},
        },
    )


def watch_item(rng: random.Random) -> TaskItem:
    """Enter three guards from a form, with data from their files and the code of their place."""
    licences = {
        name: invented_names.random_code(rng, "AA-999")
        for name in invented_names.random_people(rng, 6)
    }
    guards = list(licences)[:3]
    codes = [f"ST-{number}" for number in rng.sample(range(10, 99), 4)]
    places = rng.sample(family_words().guarded_places, 4)
    known = [
        _make_entity(code, "station", f"place: {place}")
        for code, place in zip(codes, places, strict=True)
    ]
    place_index = rng.randrange(4)
    new_entities = [_make_entity(name, "guard", f"licence: {licences[name]}") for name in guards]
    new_relations = [_make_relation(name, "guards", codes[place_index]) for name in guards]
    roles = zip(rng.sample(family_words().roles, 3), guards, strict=True)
    return TaskItem(
        template="watch",
        question=write_question("note", "watch"),
        picture=pictures.draw_form(
            rng, title="Night watch", fields={"Place": places[place_index], **dict(roles)}
        ),
        picture_name="watch.png",
        steps=[
            [
                *(reference_calls.read_file(_person_path(name)) for name in guards),
                reference_calls.search_memory(places[place_index]),
            ],
            [("memory/create_entities", {"entities": new_entities})],
            [("memory/create_relations", {"relations": new_relations})],
        ],
        expected_state={GRAPH_FILE: {"json": _expect_graph(known, new_entities, new_relations)}},
        answer_form="code of the station, licence, licence, licence",
        answer_parts=(codes[place_index], *(licences[name] for name in guards)),
        files={
            GRAPH_FILE: _encode_graph(known),
            **{
                _person_path(name): f"{name}\nLicence: {licence}\n".encode()
                for name, licence in licences.items()
            },
        },
    )


TEMPLATES: tuple[Template, ...] = (visitor_item, change_item, watch_item)


# --- the graph --------------------------------------------------------------------------


def _make_entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def _make_relation(start: str, kind: str, end: str) -> dict[str, Any]:
    return {"from": start, "to": end, "relationType": kind}


def _delete_observation(name: str, observation: str) -> reference_calls.Call:
    deletions = [{"entityName": name, "observations": [observation]}]
    return "memory/delete_observations", {"deletions": deletions}


def _add_observation(name: str, observation: str) -> reference_calls.Call:
    observations = [{"entityName": name, "contents": [observation]}]
    return "memory/add_observations", {"observations": observations}


def _typed_lines(kind: str, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": kind, **one} for one in entries]


def _encode_graph(entities: Sequence[Mapping[str, Any]]) -> bytes:
    lines = _typed_lines("entity", entities)
    return "\n".join(json.dumps(one, separators=(",", ":")) for one in lines).encode()


def _expect_graph(
    known: Sequence[Mapping[str, Any]],
    added: Sequence[Mapping[str, Any]] = (),
    relations: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the lines that the graph's file must have, and no others, in any order.

    The order of observations is free for entities that were known before.
    """
    unordered = [{**one, "observations": {"unordered": one["observations"]}} for one in known]
    lines = (*_typed_lines("entity", [*unordered, *added]), *_typed_lines("relation", relations))
    return {"unordered": list(lines)}


# --- the rest ---------------------------------------------------------------------------


def _shuffle_fields(rng: random.Random, fields: Mapping[str, str]) -> dict[str, str]:
    return dict(rng.sample(list(fields.items()), len(fields)))


def _customer_observations(code: str, plan: str, phone: str) -> tuple[str, str, str]:
    """Return a customer's observations, including the phone number."""
    return f"number: {code}", phone, f"plan: {plan}"


def _random_phones(rng: random.Random, n: int) -> list[str]:
    areas, lines = rng.sample(range(300, 700), n), rng.sample(range(10000, 99999), n)
    return [f"0{area} {line}" for area, line in zip(areas, lines, strict=True)]


def _person_path(name: str) -> str:
    return f"people/{name.split()[-1].lower()}.txt"
