"""What there is in the fictional world: kinds of things, and what is told of each.

A fact is named by what it tells (`opened`, `city`) and has a sort; some lead on to another entity.
Sorts: place, date, time (of day), number, name, choice (words out of a large vocabulary).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from toolmark.suites.mfcl.vision.item import Domain
from toolmark.types import Record

Sort: TypeAlias = Literal["place", "date", "time", "number", "name", "choice"]


class Field(Record, frozen=True, kw_only=True):
    """A fact as every entity of a kind has it. `link` is the kind of entity that it leads to.

    `low` and `high` bound numbers, and the years of dates; `unit` is what numbers count.
    """

    name: str
    sort: Sort
    link: str = ""
    unit: str = ""
    low: int = 0
    high: int = 0


class Kind(Record, frozen=True, kw_only=True):
    """A kind of entity: the word for one, its part of the world, its facts in their order.

    `share` is how many there are of it beside the others. `domain` is "" for what all of them
    share.
    """

    name: str
    noun: str
    domain: Domain | Literal[""]
    share: int
    fields: tuple[Field, ...]
    emblem: bool = False


def _date(name: str, low: int = 1988, high: int = 2024) -> Field:
    return Field(name=name, sort="date", low=low, high=high)


def _number(name: str, unit: str, low: int, high: int) -> Field:
    return Field(name=name, sort="number", unit=unit, low=low, high=high)


def _place(name: str, link: str) -> Field:
    return Field(name=name, sort="place", link=link)


def _who(name: str, link: str = "person") -> Field:
    return Field(name=name, sort="name", link=link)


def _word(name: str) -> Field:
    return Field(name=name, sort="choice")


def _kind(
    name: str, domain: Domain | Literal[""], share: int, *fields: Field, emblem: bool = False,
    noun: str = "",
) -> Kind:  # fmt: skip
    return Kind(
        name=name, noun=noun or name, domain=domain, share=share, fields=fields, emblem=emblem
    )


_CITY, _STREET = _place("city", "city"), _place("street", "street")
# who makes is of age before anything is made, and what is built stands before it is used
_BUILT = _date("opened", 1988, 1996)
_OPENED, _FIRST = _date("opened"), _date("first_held", 1998)
_OLD = _date("founded", 1890, 1985)
_ARCHITECT, _FOUNDER, _OWNER = _who("architect"), _who("founder"), _who("owner")
_SPONSOR, _HOST, _PRODUCER = _who("sponsor", "brand"), _who("host"), _who("producer")
_FORMER = _who("former_name", "")

_COMMON = (
    _kind(
        "city", "", 50,
        _date("chartered", 1340, 1790), _number("population", "inhabitants", 21_000, 480_000),
        _who("river", ""), _who("mayor"), Field(name="twin", sort="place", link="city"),
        _word("local_dish"), _number("tower_steps", "steps", 1_010, 9_990),
    ),
    _kind(
        "street", "", 50,
        _CITY, _date("laid_out", 1983, 1987), _number("length", "metres", 1_010, 9_990),
        _who("planner"), _number("lamps", "street lamps", 1_010, 9_990), _word("paving"),
    ),
    _kind(
        "person", "", 150,
        _date("born", 1942, 1962), _place("birthplace", "city"), _who("lawyer"),
        _who("school", ""), _word("first_job"), _who("dog", ""), _place("home", "street"),
    ),
)  # fmt: skip

_PLACES = (
    _kind(
        "museum", "places", 40,
        _CITY, _STREET, _OPENED, _ARCHITECT, _who("curator"),
        _number("exhibits", "exhibits", 1_200, 48_000),
        _number("visitors", "visitors", 11_000, 480_000), _word("oldest_piece"), _FORMER,
    ),
    _kind(
        "cafe", "places", 40,
        _CITY, _STREET, _OPENED, _OWNER, _word("speciality"),
        _number("cups", "cups", 1_010, 9_990), _who("roaster", "brand"), _FORMER,
    ),
    _kind(
        "station", "places", 40,
        _CITY, _OPENED, _ARCHITECT, _number("passengers", "passengers", 2_000, 98_000),
        Field(name="first_train", sort="time", low=4, high=8),
        Field(name="last_train", sort="time", low=20, high=24),
        _place("next_stop", "station"), _who("clockmaker"),
    ),
    _kind(
        "monument", "places", 40,
        _CITY, _STREET, _date("unveiled", 2003), _who("sculptor"), _who("honours"),
        _number("height", "millimetres", 2_100, 29_000), _word("material"), _who("donor", "brand"),
    ),
    _kind(
        "theatre", "places", 40,
        _CITY, _STREET, _BUILT, _ARCHITECT, _who("manager"),
        _number("capacity", "seats", 1_010, 9_990), _number("organ_pipes", "pipes", 1_010, 9_990),
        _word("curtain"), _FORMER,
    ),
)  # fmt: skip

_EVENTS = (
    _kind(
        "festival", "events", 40,
        _CITY, _place("venue", "theatre"), _FIRST, _FOUNDER, _who("headliner", "band"), _SPONSOR,
        _number("visitors", "visitors", 4_000, 180_000), _who("mascot", ""), _word("motto"),
        emblem=True,
    ),
    _kind(
        "conference", "events", 40,
        _CITY, _place("venue", "theatre"), _FIRST, _who("chair"), _word("topic"), _SPONSOR,
        _number("delegates", "delegates", 1_010, 29_000), _number("fee", "crowns", 1_010, 9_990),
    ),
    _kind(
        "expo", "events", 30,
        _CITY, _place("venue", "stadium"), _FIRST, _who("organiser"), _SPONSOR,
        _number("exhibitors", "exhibitors", 1_010, 9_990),
        _number("floor_area", "square metres", 11_000, 98_000), _word("topic"),
        noun="trade fair",
    ),
    _kind(
        "race", "events", 30,
        _CITY, _place("start", "street"), _place("finish", "street"), _FIRST,
        _number("distance", "metres", 10_100, 68_000),
        _number("runners", "runners", 1_010, 29_000), _who("record_holder", "player"), _SPONSOR,
    ),
    _kind(
        "award", "events", 30,
        _date("founded", 1998, 2005), _place("ceremony", "theatre"), _who("jury_chair"),
        _who("namesake"), _who("winner", "film"), _number("prize", "crowns", 2_000, 98_000),
        _word("material"),
    ),
)  # fmt: skip

_MEDIA = (
    _kind(
        "film", "media", 40,
        _who("director"), _who("writer"), _date("released", 2006), _place("shot_in", "city"),
        _number("budget", "crowns", 110_000, 990_000), _who("soundtrack", "band"),
        _who("based_on", "book"), _number("extras", "extras", 1_010, 9_990),
    ),
    _kind(
        "book", "media", 40,
        _who("author"), _date("published", 1988, 2003),
        _who("publisher", ""), _place("setting", "city"),
        _who("illustrator"), _who("dedicated_to"), _number("copies", "copies", 1_100, 98_000),
    ),
    _kind(
        "band", "media", 40,
        _date("founded", 1984, 1996),
        _CITY, _who("singer"), _who("drummer"), _who("first_album", "album"),
        _word("instrument"), _number("fan_club", "members", 1_010, 48_000), _FORMER,
        emblem=True,
    ),
    _kind(
        "album", "media", 40,
        _who("band", "band"), _date("released", 1998), _place("recorded_in", "city"), _PRODUCER,
        _who("cover_artist"), _number("copies", "copies", 2_100, 98_000),
        _number("running_time", "seconds", 1_810, 4_790),
    ),
    _kind(
        "show", "media", 30,
        _HOST, _date("first_aired", 1998), _place("studio", "city"), _PRODUCER,
        _number("listeners", "listeners", 11_000, 480_000), _who("theme_music", "band"),
        _word("topic"),
        noun="radio show",
    ),
    _kind(
        "podcast", "media", 30,
        _HOST, _date("first_aired", 2005), _place("studio", "street"), _who("first_guest"),
        _number("downloads", "downloads", 11_000, 480_000), _who("theme_music", "band"),
        _word("topic"),
    ),
)  # fmt: skip

_SPORTS = (
    _kind(
        "league", "sports", 30,
        _OLD, _who("president"), _place("seat", "city"), _who("champion", "team"), _SPONSOR,
        _number("registered", "players", 1_010, 29_000), _word("ball"),
    ),
    _kind(
        "team", "sports", 50,
        _who("league", "league"), _CITY, _place("home_ground", "stadium"), _OLD, _who("coach"),
        _who("captain", "player"), _word("away_kit"), _who("mascot", ""),
        _number("members", "members", 1_010, 48_000), _FORMER,
        emblem=True,
    ),
    _kind(
        "stadium", "sports", 40,
        _CITY, _STREET, _BUILT, _number("capacity", "seats", 24_000, 98_000), _ARCHITECT,
        _number("record_crowd", "spectators", 4_000, 23_900), _who("groundskeeper"), _FORMER,
    ),
    _kind(
        "cup", "sports", 30,
        _date("first_held", 1998, 2012), _place("final_ground", "stadium"), _who("winner", "team"),
        _who("scorer", "player"), _number("attendance", "spectators", 1_010, 3_900),
        _who("silversmith"), _number("weight", "grams", 1_010, 9_990), _date("last_final", 2016),
    ),
    _kind(
        "player", "sports", 60,
        _date("born", 1984, 1992), _place("birthplace", "city"), _who("team", "team"),
        _date("debut", 2010, 2015), _number("minutes", "minutes", 1_010, 28_000),
        _who("trainer"), _who("boots", "brand"), _word("first_job"),
    ),
)  # fmt: skip

_SHOPPING = (
    _kind(
        "brand", "shopping", 60,
        _date("founded", 1988, 2001),
        _FOUNDER, _place("headquarters", "city"), _who("first_product", "product"),
        _who("ambassador", "player"), _number("workers", "workers", 1_010, 29_000), _FORMER,
        _word("motto"),
        emblem=True,
    ),
    _kind(
        "product", "shopping", 60,
        _who("brand", "brand"), _who("designer"), _date("released", 2003),
        _place("made_in", "city"),
        _number("price", "crowns", 1_010, 9_990), _number("weight", "grams", 1_010, 9_990),
        _word("material"), _number("test_score", "points", 1_010, 9_990),
    ),
    _kind(
        "shop", "shopping", 50,
        _CITY, _STREET, _OPENED, _OWNER, _who("best_seller", "product"),
        _number("floor_area", "square metres", 1_010, 9_990),
        _number("customers", "customers", 1_010, 48_000), _FORMER,
        emblem=True,
    ),
    _kind(
        "dish", "shopping", 30,
        _who("inventor"), _place("first_served", "cafe"), _date("first_cooked"),
        _place("origin", "city"), _number("energy", "kilojoules", 1_010, 9_990),
        _word("secret_spice"), _who("maker", "brand"),
        noun="ready meal",
    ),
)  # fmt: skip

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (*_COMMON, *_PLACES, *_EVENTS, *_MEDIA, *_SPORTS, *_SHOPPING)
}
