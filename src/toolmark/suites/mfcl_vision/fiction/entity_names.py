"""Names of entities by kind, in tribes of names that are easy to confuse."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from toolmark.core import seeds
from toolmark.suites.mfcl_vision.fiction.invented_words import WordMaker, word_beginning

# Names that share a word or their first letters: six look-alikes for each name.
TRIBE_SIZE = 7

WOMEN_NAMES = (
    "Adele Alma Beatrix Carla Clara Cora Dora Edith Esther Flora Frida Gerda Hanna Ida Irma Judith "
    "Karin Laura Magda Mirna Nadia Nora Paula Petra Ramona Rita Sabine Selma Tamara Tessa Ursula "
    "Vera Viola Wanda Wilma Yvonne"
)
MEN_NAMES = (
    "Anton Basil Bruno Cedric Conrad Edgar Elmer Fabian Felix Gustav Hector Hugo Jasper Jonas "
    "Julian Kaspar Leon Linus Lorenz Marek Moritz Nestor Oskar Otto Quentin Roland Ruben Rufus "
    "Simon Stefan Theo Tobias Walter Zeno"
)
_GIVEN_NAMES = f"{WOMEN_NAMES} {MEN_NAMES}"

# {A} is an invented word, {B} one of the listed words.
_NAME_PATTERNS: Mapping[str, tuple[str, str]] = {
    "city": ("{A}", ""),
    "street": ("{A} {B}", "Street Lane Avenue Row Road Walk Terrace"),
    "person": ("{B} {A}", _GIVEN_NAMES),
    "museum": (
        "{A} {B} Museum",
        "Clock Glass Toy Print Radio Tram Carpet Bridge Compass Lamp Puppet Postal",
    ),
    "cafe": (
        "{A} {B}",
        "Kettle Spoon Teacup Saucer Pantry Biscuit Parlour Larder Oven Samovar Crumb Mocha",
    ),
    "station": ("{A} {B}", "Central Junction Harbour Parkway Gate Cross North South East West"),
    "monument": ("{A} {B}", "Column Obelisk Arch Fountain Statue Pillar Belfry Memorial"),
    "theatre": ("{A} {B}", "Theatre Playhouse Hall Opera Rotunda Auditorium Odeon"),
    "festival": (
        "{A} {B} Festival",
        "Lantern River Kite Harvest Drum Puppet Song Light Garden Snow Comedy Jazz",
    ),
    "conference": ("{A} {B}", "Summit Congress Symposium Colloquium Assembly Forum"),
    "expo": ("{A} {B}", "Expo Fair Salon Showcase Exhibition"),
    "race": ("{A} {B}", "Marathon Relay Dash Loop Trail Circuit Sprint"),
    "award": ("{A} {B}", "Prize Medal Award Laurel Quill Garland"),
    "film": (
        "The {A} {B}",
        "Affair Heist Letters Mirror Winter Promise Bridge Verdict Secret Voyage Shadow",
    ),
    "book": (
        "{B} of {A}",
        "Orchards Ledgers Keepers Daughters Gardens Voices Maps Ashes Rivers Bridges Clocks",
    ),
    "band": ("The {A} {B}", "Foxes Owls Sparrows Pilots Drifters Brothers Engines Ghosts Tailors"),
    "album": ("{A} {B}", "Nights Echoes Tides Skies Mirrors Embers Gravity Signals Avenue"),
    "show": ("{A} {B}", "Morning Tonight Matinee Breakfast Weekend Hour Magazine"),
    "podcast": ("{A} {B}", "Files Diaries Talks Sessions Notebook Stories Letters"),
    "league": ("{A} {B}", "League Division Union Series"),
    "team": (
        "{A} {B}",
        "Rovers Kites Otters Comets Rangers Herons Stags Ravens Badgers Titans Falcons Wolves",
    ),
    "stadium": ("{A} {B}", "Park Arena Stadium Ground Oval Bowl Field"),
    "cup": ("{A} {B}", "Cup Trophy Plate Vase Goblet Chalice"),
    "player": ("{B} {A}", _GIVEN_NAMES),
    "brand": ("{A}", ""),
    "product": (
        "{A} {B}",
        "Kettle Lamp Radio Backpack Toaster Blender Torch Teapot Clock Speaker Flask Umbrella",
    ),
    "shop": (
        "{A} {B}",
        "Books Toys Bakery Shoes Florist Hardware Records Grocers Tailors Cycles Antiques Optics",
    ),
    "dish": ("{A} {B}", "Stew Pie Soup Curry Noodles Risotto Dumplings Pasta Goulash"),
}


class EntityName(NamedTuple):
    """A name, its invented word, and the number of its tribe."""

    name: str
    word: str
    tribe: int


def draw_names(
    rng: random.Random, word_maker: WordMaker, kind: str, n: int
) -> Iterator[EntityName]:
    """Yield n names of a kind."""
    pattern, listed = _NAME_PATTERNS[kind]
    listed_words = listed.split() or [""]
    for tribe, start in enumerate(range(0, n, TRIBE_SIZE)):
        for word, listed_word in _draw_tribe(
            rng, word_maker, listed_words, min(TRIBE_SIZE, n - start)
        ):
            yield EntityName(pattern.format(A=word, B=listed_word), word, tribe)


def draw_single_name(rng: random.Random, word_maker: WordMaker, kind: str) -> str:
    """Return a name in the pattern of a kind that belongs to no tribe."""
    pattern, listed = _NAME_PATTERNS[kind]
    return pattern.format(A=word_maker.make_word(), B=seeds.draw_one(rng, listed.split() or [""]))


def _draw_tribe(
    rng: random.Random, word_maker: WordMaker, listed_words: Sequence[str], n: int
) -> Iterator[tuple[str, str]]:
    """Yield n names: every other one begins like the first, the others share its listed word."""
    first_word, shared = word_maker.make_word(), seeds.draw_one(rng, listed_words)
    yield first_word, shared
    others = [word for word in listed_words if word != shared] or [shared]
    for i in range(1, n):
        begins_alike = i % 2 == 1 or not shared
        invented = word_maker.make_word(word_beginning(first_word) if begins_alike else "")
        yield invented, seeds.draw_one(rng, others) if begins_alike else shared
