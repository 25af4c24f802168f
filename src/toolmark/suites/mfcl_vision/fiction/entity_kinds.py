"""The kinds of entities in the fictional world, and the fields of each.

A field is named by what it states (`opened`, `city`) and has a sort. Some fields link to another
entity. Sorts: place, date, time (of day), number, name, choice (words from a large vocabulary).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from toolmark.core.records import Record
from toolmark.suites.mfcl_vision.item_records import Domain

ValueSort: TypeAlias = Literal["place", "date", "time", "number", "name", "choice"]


class FactField(Record, frozen=True, kw_only=True):
    """A fact that every entity of a kind has. `link` is the kind of entity that it links to.

    `low` and `high` limit numbers, and the years of dates. `unit` is what numbers count.
    """

    name: str
    sort: ValueSort
    link: str = ""
    unit: str = ""
    low: int = 0
    high: int = 0


class EntityKind(Record, frozen=True, kw_only=True):
    """A kind of entity: its noun, its domain, its fields in order.

    `share` is its number relative to other kinds. `domain` is "" for kinds that all domains use.
    """

    name: str
    noun: str
    domain: Domain | Literal[""]
    share: int
    fields: tuple[FactField, ...]
    emblem: bool = False


def _date_field(name: str, low: int = 1988, high: int = 2024) -> FactField:
    return FactField(name=name, sort="date", low=low, high=high)


def _number_field(name: str, unit: str, low: int, high: int) -> FactField:
    return FactField(name=name, sort="number", unit=unit, low=low, high=high)


def _place_field(name: str, link: str) -> FactField:
    return FactField(name=name, sort="place", link=link)


def _name_field(name: str, link: str = "person") -> FactField:
    return FactField(name=name, sort="name", link=link)


def _choice_field(name: str) -> FactField:
    return FactField(name=name, sort="choice")


def _make_kind(
    name: str, domain: Domain | Literal[""], share: int, *fields: FactField, emblem: bool = False,
    noun: str = "",
) -> EntityKind:  # fmt: skip
    return EntityKind(
        name=name, noun=noun or name, domain=domain, share=share, fields=fields, emblem=emblem
    )


_CITY, _STREET = _place_field("city", "city"), _place_field("street", "street")
# People are adults before they make anything, and buildings exist before they are used.
_BUILDING_OPENED = _date_field("opened", 1988, 1996)
_OPENED, _FIRST_HELD = _date_field("opened"), _date_field("first_held", 1998)
_FOUNDED_EARLY = _date_field("founded", 1890, 1985)
_ARCHITECT = _name_field("architect")
_FOUNDER = _name_field("founder")
_OWNER = _name_field("owner")
_SPONSOR = _name_field("sponsor", "brand")
_HOST = _name_field("host")
_PRODUCER = _name_field("producer")
_FORMER_NAME = _name_field("former_name", "")

_COMMON_KINDS = (
    _make_kind(
        "city",
        "",
        50,
        _date_field("chartered", 1340, 1790),
        _number_field("population", "inhabitants", 21_000, 480_000),
        _name_field("river", ""),
        _name_field("mayor"),
        FactField(name="twin", sort="place", link="city"),
        _choice_field("local_dish"),
        _number_field("tower_steps", "steps", 1_010, 9_990),
    ),
    _make_kind(
        "street",
        "",
        50,
        _CITY,
        _date_field("laid_out", 1983, 1987),
        _number_field("length", "metres", 1_010, 9_990),
        _name_field("planner"),
        _number_field("lamps", "street lamps", 1_010, 9_990),
        _choice_field("paving"),
    ),
    _make_kind(
        "person",
        "",
        150,
        _date_field("born", 1942, 1962),
        _place_field("birthplace", "city"),
        _name_field("lawyer"),
        _name_field("school", ""),
        _choice_field("first_job"),
        _name_field("dog", ""),
        _place_field("home", "street"),
    ),
)

_PLACE_KINDS = (
    _make_kind(
        "museum",
        "places",
        40,
        _CITY,
        _STREET,
        _OPENED,
        _ARCHITECT,
        _name_field("curator"),
        _number_field("exhibits", "exhibits", 1_200, 48_000),
        _number_field("visitors", "visitors", 11_000, 480_000),
        _choice_field("oldest_piece"),
        _FORMER_NAME,
    ),
    _make_kind(
        "cafe",
        "places",
        40,
        _CITY,
        _STREET,
        _OPENED,
        _OWNER,
        _choice_field("speciality"),
        _number_field("cups", "cups", 1_010, 9_990),
        _name_field("roaster", "brand"),
        _FORMER_NAME,
    ),
    _make_kind(
        "station",
        "places",
        40,
        _CITY,
        _OPENED,
        _ARCHITECT,
        _number_field("passengers", "passengers", 2_000, 98_000),
        FactField(name="first_train", sort="time", low=4, high=8),
        FactField(name="last_train", sort="time", low=20, high=24),
        _place_field("next_stop", "station"),
        _name_field("clockmaker"),
    ),
    _make_kind(
        "monument",
        "places",
        40,
        _CITY,
        _STREET,
        _date_field("unveiled", 2003),
        _name_field("sculptor"),
        _name_field("honours"),
        _number_field("height", "millimetres", 2_100, 29_000),
        _choice_field("material"),
        _name_field("donor", "brand"),
    ),
    _make_kind(
        "theatre",
        "places",
        40,
        _CITY,
        _STREET,
        _BUILDING_OPENED,
        _ARCHITECT,
        _name_field("manager"),
        _number_field("capacity", "seats", 1_010, 9_990),
        _number_field("organ_pipes", "pipes", 1_010, 9_990),
        _choice_field("curtain"),
        _FORMER_NAME,
    ),
)

_EVENT_KINDS = (
    _make_kind(
        "festival",
        "events",
        40,
        _CITY,
        _place_field("venue", "theatre"),
        _FIRST_HELD,
        _FOUNDER,
        _name_field("headliner", "band"),
        _SPONSOR,
        _number_field("visitors", "visitors", 4_000, 180_000),
        _name_field("mascot", ""),
        _choice_field("motto"),
        emblem=True,
    ),
    _make_kind(
        "conference",
        "events",
        40,
        _CITY,
        _place_field("venue", "theatre"),
        _FIRST_HELD,
        _name_field("chair"),
        _choice_field("topic"),
        _SPONSOR,
        _number_field("delegates", "delegates", 1_010, 29_000),
        _number_field("fee", "crowns", 1_010, 9_990),
    ),
    _make_kind(
        "expo",
        "events",
        30,
        _CITY,
        _place_field("venue", "stadium"),
        _FIRST_HELD,
        _name_field("organiser"),
        _SPONSOR,
        _number_field("exhibitors", "exhibitors", 1_010, 9_990),
        _number_field("floor_area", "square metres", 11_000, 98_000),
        _choice_field("topic"),
        noun="trade fair",
    ),
    _make_kind(
        "race",
        "events",
        30,
        _CITY,
        _place_field("start", "street"),
        _place_field("finish", "street"),
        _FIRST_HELD,
        _number_field("distance", "metres", 10_100, 68_000),
        _number_field("runners", "runners", 1_010, 29_000),
        _name_field("record_holder", "player"),
        _SPONSOR,
    ),
    _make_kind(
        "award",
        "events",
        30,
        _date_field("founded", 1998, 2005),
        _place_field("ceremony", "theatre"),
        _name_field("jury_chair"),
        _name_field("namesake"),
        _name_field("winner", "film"),
        _number_field("prize", "crowns", 2_000, 98_000),
        _choice_field("material"),
    ),
)

_MEDIA_KINDS = (
    _make_kind(
        "film",
        "media",
        40,
        _name_field("director"),
        _name_field("writer"),
        _date_field("released", 2006),
        _place_field("shot_in", "city"),
        _number_field("budget", "crowns", 110_000, 990_000),
        _name_field("soundtrack", "band"),
        _name_field("based_on", "book"),
        _number_field("extras", "extras", 1_010, 9_990),
    ),
    _make_kind(
        "book",
        "media",
        40,
        _name_field("author"),
        _date_field("published", 1988, 2003),
        _name_field("publisher", ""),
        _place_field("setting", "city"),
        _name_field("illustrator"),
        _name_field("dedicated_to"),
        _number_field("copies", "copies", 1_100, 98_000),
    ),
    _make_kind(
        "band",
        "media",
        40,
        _date_field("founded", 1984, 1996),
        _CITY,
        _name_field("singer"),
        _name_field("drummer"),
        _name_field("first_album", "album"),
        _choice_field("instrument"),
        _number_field("fan_club", "members", 1_010, 48_000),
        _FORMER_NAME,
        emblem=True,
    ),
    _make_kind(
        "album",
        "media",
        40,
        _name_field("band", "band"),
        _date_field("released", 1998),
        _place_field("recorded_in", "city"),
        _PRODUCER,
        _name_field("cover_artist"),
        _number_field("copies", "copies", 2_100, 98_000),
        _number_field("running_time", "seconds", 1_810, 4_790),
    ),
    _make_kind(
        "show",
        "media",
        30,
        _HOST,
        _date_field("first_aired", 1998),
        _place_field("studio", "city"),
        _PRODUCER,
        _number_field("listeners", "listeners", 11_000, 480_000),
        _name_field("theme_music", "band"),
        _choice_field("topic"),
        noun="radio show",
    ),
    _make_kind(
        "podcast",
        "media",
        30,
        _HOST,
        _date_field("first_aired", 2005),
        _place_field("studio", "street"),
        _name_field("first_guest"),
        _number_field("downloads", "downloads", 11_000, 480_000),
        _name_field("theme_music", "band"),
        _choice_field("topic"),
    ),
)

_SPORTS_KINDS = (
    _make_kind(
        "league",
        "sports",
        30,
        _FOUNDED_EARLY,
        _name_field("president"),
        _place_field("seat", "city"),
        _name_field("champion", "team"),
        _SPONSOR,
        _number_field("registered", "players", 1_010, 29_000),
        _choice_field("ball"),
    ),
    _make_kind(
        "team",
        "sports",
        50,
        _name_field("league", "league"),
        _CITY,
        _place_field("home_ground", "stadium"),
        _FOUNDED_EARLY,
        _name_field("coach"),
        _name_field("captain", "player"),
        _choice_field("away_kit"),
        _name_field("mascot", ""),
        _number_field("members", "members", 1_010, 48_000),
        _FORMER_NAME,
        emblem=True,
    ),
    _make_kind(
        "stadium",
        "sports",
        40,
        _CITY,
        _STREET,
        _BUILDING_OPENED,
        _number_field("capacity", "seats", 24_000, 98_000),
        _ARCHITECT,
        _number_field("record_crowd", "spectators", 4_000, 23_900),
        _name_field("groundskeeper"),
        _FORMER_NAME,
    ),
    _make_kind(
        "cup",
        "sports",
        30,
        _date_field("first_held", 1998, 2012),
        _place_field("final_ground", "stadium"),
        _name_field("winner", "team"),
        _name_field("scorer", "player"),
        _number_field("attendance", "spectators", 1_010, 3_900),
        _name_field("silversmith"),
        _number_field("weight", "grams", 1_010, 9_990),
        _date_field("last_final", 2016),
    ),
    _make_kind(
        "player",
        "sports",
        60,
        _date_field("born", 1984, 1992),
        _place_field("birthplace", "city"),
        _name_field("team", "team"),
        _date_field("debut", 2010, 2015),
        _number_field("minutes", "minutes", 1_010, 28_000),
        _name_field("trainer"),
        _name_field("boots", "brand"),
        _choice_field("first_job"),
    ),
)

_SHOPPING_KINDS = (
    _make_kind(
        "brand",
        "shopping",
        60,
        _date_field("founded", 1988, 2001),
        _FOUNDER,
        _place_field("headquarters", "city"),
        _name_field("first_product", "product"),
        _name_field("ambassador", "player"),
        _number_field("workers", "workers", 1_010, 29_000),
        _FORMER_NAME,
        _choice_field("motto"),
        emblem=True,
    ),
    _make_kind(
        "product",
        "shopping",
        60,
        _name_field("brand", "brand"),
        _name_field("designer"),
        _date_field("released", 2003),
        _place_field("made_in", "city"),
        _number_field("price", "crowns", 1_010, 9_990),
        _number_field("weight", "grams", 1_010, 9_990),
        _choice_field("material"),
        _number_field("test_score", "points", 1_010, 9_990),
    ),
    _make_kind(
        "shop",
        "shopping",
        50,
        _CITY,
        _STREET,
        _OPENED,
        _OWNER,
        _name_field("best_seller", "product"),
        _number_field("floor_area", "square metres", 1_010, 9_990),
        _number_field("customers", "customers", 1_010, 48_000),
        _FORMER_NAME,
        emblem=True,
    ),
    _make_kind(
        "dish",
        "shopping",
        30,
        _name_field("inventor"),
        _place_field("first_served", "cafe"),
        _date_field("first_cooked"),
        _place_field("origin", "city"),
        _number_field("energy", "kilojoules", 1_010, 9_990),
        _choice_field("secret_spice"),
        _name_field("maker", "brand"),
        noun="ready meal",
    ),
)

ENTITY_KINDS: Mapping[str, EntityKind] = {
    kind.name: kind
    for kind in (
        *_COMMON_KINDS,
        *_PLACE_KINDS,
        *_EVENT_KINDS,
        *_MEDIA_KINDS,
        *_SPORTS_KINDS,
        *_SHOPPING_KINDS,
    )
}
