"""What the entities of each kind are called, in tribes that are easily mistaken for each other."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from toolmark import seeds
from toolmark.suites.mfcl.vision.fiction.words import Mint, head

TRIBE = 7  # names that share a word or their first letters: six look-alikes for each

WOMEN = (
    "Adele Alma Beatrix Carla Clara Cora Dora Edith Esther Flora Frida Gerda Hanna Ida Irma Judith "
    "Karin Laura Magda Mirna Nadia Nora Paula Petra Ramona Rita Sabine Selma Tamara Tessa Ursula "
    "Vera Viola Wanda Wilma Yvonne"
)
MEN = (
    "Anton Basil Bruno Cedric Conrad Edgar Elmer Fabian Felix Gustav Hector Hugo Jasper Jonas "
    "Julian Kaspar Leon Linus Lorenz Marek Moritz Nestor Oskar Otto Quentin Roland Ruben Rufus "
    "Simon Stefan Theo Tobias Walter Zeno"
)
_GIVEN = f"{WOMEN} {MEN}"

# {A} is an invented word, {B} one of the words
_PATTERNS: Mapping[str, tuple[str, str]] = {
    "city": ("{A}", ""),
    "street": ("{A} {B}", "Street Lane Avenue Row Road Walk Terrace"),
    "person": ("{B} {A}", _GIVEN),
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
    "player": ("{B} {A}", _GIVEN),
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


class Name(NamedTuple):
    """A name, the invented word in it, the number of its tribe."""

    name: str
    word: str
    tribe: int


def draw(rng: random.Random, mint: Mint, kind: str, n: int) -> Iterator[Name]:
    """Draw n names of a kind."""
    pattern, listed = _PATTERNS[kind]
    words = listed.split() or [""]
    for tribe, start in enumerate(range(0, n, TRIBE)):
        for word, other in _tribe(rng, mint, words, min(TRIBE, n - start)):
            yield Name(pattern.format(A=word, B=other), word, tribe)


def one(rng: random.Random, mint: Mint, kind: str) -> str:
    """Draw a name as those of a kind, of no tribe."""
    pattern, listed = _PATTERNS[kind]
    return pattern.format(A=mint.word(), B=seeds.choice(rng, listed.split() or [""]))


def _tribe(
    rng: random.Random, mint: Mint, words: Sequence[str], n: int
) -> Iterator[tuple[str, str]]:
    """Every other name begins like the first one, the others share its listed word."""
    first, shared = mint.word(), seeds.choice(rng, words)
    yield first, shared
    others = [word for word in words if word != shared] or [shared]
    for i in range(1, n):
        near = i % 2 == 1 or not shared
        made = mint.word(head(first) if near else "")
        yield made, seeds.choice(rng, others) if near else shared
