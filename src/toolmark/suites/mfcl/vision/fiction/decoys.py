"""Pages that name an entity and do not hold what is asked: archives, letters, lists, namesakes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from toolmark import seeds
from toolmark.suites.mfcl.vision.fiction import pages
from toolmark.suites.mfcl.vision.fiction.entity import Entity
from toolmark.suites.mfcl.vision.fiction.facts import Draw
from toolmark.suites.mfcl.vision.fiction.kinds import KINDS, Field
from toolmark.worlds.corpus import Page

_LISTED = 6
_THINGS = (
    "racehorse", "river barge", "moth", "apple variety", "comet", "weather balloon", "tulip",
    "steam engine", "lighthouse keeper's tale", "card game", "waltz", "fishing boat",
)  # fmt: skip
_WHEN = Field(name="", sort="date", low=1988, high=2024)
_COUNT = Field(name="", sort="number", low=1_010, high=98_000)

_ARCHIVED = (
    "An earlier version of this page described {name}. It was taken down after readers had "
    "found mistakes in it, and nothing of it should be relied on. The entries for {labels} "
    "were removed, and have not been replaced. Libraries hold printed copies of the old "
    "version under a different number, but they do not lend them. Whoever looks for the "
    "present state of things should turn to a guide that is still kept up by its editors, not "
    "to this archive.",
    "This is a saved copy of a page that is out of date. Where it dealt with {name} the text "
    "has been blanked, because the old answers on {labels} had turned out to be wrong. The "
    "archive keeps the address so that references do not break. Visitors are asked not to "
    "quote from this place, and to look for a page that is still maintained by the people who "
    "know better.",
)
_LETTERS = (
    "A reader asks us about {name}: nobody at the office could say anything about {labels}, "
    "and the telephone rang for an hour. We asked around and got three different answers, "
    "none of which we care to print. Perhaps another reader knows more, and will write to us "
    "before the next issue goes to press. Until then we can only say that the question is a "
    "good one, and that the kettle in our kitchen has broken down again.",
    "Last week's quiz had a question on {name}, and it drew more complaints than all others "
    "taken together. The solution concerned {labels}. It was wrong, and the quiz master has "
    "apologised to all who took part. We do not print the right one here, since the second "
    "round is still open until the end of the month. Entries that arrive by carrier pigeon "
    "are not accepted any more.",
)
_LISTS = (
    "Here is a list of names that callers mix up, in no order at all: {names}. The "
    "switchboard asks everybody to say the name twice and slowly. Details are not kept at "
    "this desk; each of them has a page of its own in the guides, with all that is known. The "
    "list is checked once a year, usually in spring, when the telephones are quiet and the "
    "windows can be opened.",
    "Our mailing list for the coming season: {names}. The list was typed by hand from visiting "
    "cards, and spellings were checked with a magnifying glass. It says nothing else about those "
    "who stand on it. Requests to be taken off it are answered within a week, in the order in "
    "which they come in, except on public holidays and during the annual stocktaking.",
)
_NAMESAKES = (
    "The word {word} also belongs to {a}, which has no connection with others that bear it. It was "
    "registered on {day} and its file is numbered {number}. Collectors know it well; the wider "
    "public does not. A small plaque was planned and never made, and the only photograph that "
    "exists is out of focus. Enquiries about others of the name cannot be dealt with here.",
    "This entry is about {a} that goes by {word}, not about any other bearer. Entered into the "
    "register on {day} under number {number}, it was forgotten for years and turned up again in a "
    "drawer. Whoever came here by mistake should search again with the full name of what is meant. "
    "Nothing further is on file, and the drawer has since been sold.",
)


class Maker:
    """Writes pages that lead nowhere. Their values are drawn with those of the world."""

    def __init__(self, rng: random.Random, draw: Draw) -> None:
        self._rng = rng
        self._draw = draw

    def pages(self, entity: Entity, alike: Sequence[Entity], n: int) -> Iterator[Page]:
        """Write n pages for an entity; lists name those alike too."""
        forms: list[Callable[[], tuple[str, str]]] = [
            lambda: self._archived(entity),
            lambda: self._letter(entity),
            lambda: self._list(entity, alike),
            lambda: self._namesake(entity),
        ]
        seeds.shuffle(self._rng, forms)
        for i in range(n):
            title, text = forms[i % len(forms)]()
            href = f"https://{pages.slug(title)}.example/{entity.id}/{i + 1}"
            yield pages.written(href, title, [text])

    def _archived(self, entity: Entity) -> tuple[str, str]:
        return "Archived page", self._about(_ARCHIVED, entity)

    def _letter(self, entity: Entity) -> tuple[str, str]:
        return "Letters to the editor", self._about(_LETTERS, entity)

    def _about(self, texts: Sequence[str], entity: Entity) -> str:
        names = [pages.label(name).lower() for name in entity.facts]
        seeds.shuffle(self._rng, names)
        labels = f"{', '.join(names[:2])} and {names[2]}"
        return seeds.choice(self._rng, texts).format(name=entity.name, labels=labels)

    def _list(self, entity: Entity, alike: Sequence[Entity]) -> tuple[str, str]:
        names = [one.name for one in (entity, *alike[: _LISTED - 1])]
        seeds.shuffle(self._rng, names)
        noun = KINDS[entity.kind].noun
        text = seeds.choice(self._rng, _LISTS).format(names="; ".join(names))
        return f"Names easily confused: {noun}", text

    def _namesake(self, entity: Entity) -> tuple[str, str]:
        thing, word = seeds.choice(self._rng, _THINGS), entity.word
        text = seeds.choice(self._rng, _NAMESAKES).format(
            word=word,
            a=pages.article(thing),
            day=self._draw.value(_WHEN).text,
            number=self._draw.value(_COUNT).text,
        )
        return f"Register of names: {thing}", text
