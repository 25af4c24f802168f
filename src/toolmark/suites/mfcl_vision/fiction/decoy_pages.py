"""Pages that name an entity but do not have the answer: archives, letters, lists, namesakes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from toolmark.core import seeds
from toolmark.environments.page_corpus import MemoryPage
from toolmark.suites.mfcl_vision.fiction import entity_pages
from toolmark.suites.mfcl_vision.fiction.entity_facts import ValueDrawer
from toolmark.suites.mfcl_vision.fiction.entity_kinds import ENTITY_KINDS, FactField
from toolmark.suites.mfcl_vision.fiction.entity_records import Entity

_MAX_LISTED_NAMES = 6
_NAMESAKE_KINDS = (
    "racehorse", "river barge", "moth", "apple variety", "comet", "weather balloon", "tulip",
    "steam engine", "lighthouse keeper's tale", "card game", "waltz", "fishing boat",
)  # fmt: skip
_DATE_FIELD = FactField(name="", sort="date", low=1988, high=2024)
_NUMBER_FIELD = FactField(name="", sort="number", low=1_010, high=98_000)

_ARCHIVE_TEXTS = (
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
_LETTER_TEXTS = (
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
_LIST_TEXTS = (
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
_NAMESAKE_TEXTS = (
    "The word {word} also belongs to {a}, which has no connection with others that bear it. It was "
    "registered on {day} and its file is numbered {number}. Collectors know it well; the wider "
    "public does not. A small plaque was planned and never made, and the only photograph that "
    "exists is out of focus. Enquiries about others of the name cannot be dealt with here.",
    "This entry is about {a} that goes by {word}, not about any other bearer. Entered into the "
    "register on {day} under number {number}, it was forgotten for years and turned up again in a "
    "drawer. Whoever came here by mistake should search again with the full name of what is meant. "
    "Nothing further is on file, and the drawer has since been sold.",
)


class DecoyWriter:
    """Writes decoy pages. Their values are drawn together with those of the world."""

    def __init__(self, rng: random.Random, draw: ValueDrawer) -> None:
        self._rng = rng
        self._values = draw

    def write_pages(
        self, entity: Entity, lookalikes: Sequence[Entity], n: int
    ) -> Iterator[MemoryPage]:
        """Yield n pages for an entity; list pages name its look-alikes too."""
        forms: list[Callable[[], tuple[str, str]]] = [
            lambda: self._archive_page(entity),
            lambda: self._letter_page(entity),
            lambda: self._list_page(entity, lookalikes),
            lambda: self._namesake_page(entity),
        ]
        seeds.shuffle(self._rng, forms)
        for i in range(n):
            title, text = forms[i % len(forms)]()
            href = f"https://{entity_pages.name_slug(title)}.example/{entity.id}/{i + 1}"
            yield entity_pages.make_page(href, title, [text])

    def _archive_page(self, entity: Entity) -> tuple[str, str]:
        return "Archived page", self._fill_text(_ARCHIVE_TEXTS, entity)

    def _letter_page(self, entity: Entity) -> tuple[str, str]:
        return "Letters to the editor", self._fill_text(_LETTER_TEXTS, entity)

    def _fill_text(self, texts: Sequence[str], entity: Entity) -> str:
        names = [entity_pages.fact_label(name).lower() for name in entity.facts]
        seeds.shuffle(self._rng, names)
        labels = f"{', '.join(names[:2])} and {names[2]}"
        return seeds.draw_one(self._rng, texts).format(name=entity.name, labels=labels)

    def _list_page(self, entity: Entity, lookalikes: Sequence[Entity]) -> tuple[str, str]:
        names = [listed.name for listed in (entity, *lookalikes[: _MAX_LISTED_NAMES - 1])]
        seeds.shuffle(self._rng, names)
        noun = ENTITY_KINDS[entity.kind].noun
        text = seeds.draw_one(self._rng, _LIST_TEXTS).format(names="; ".join(names))
        return f"Names easily confused: {noun}", text

    def _namesake_page(self, entity: Entity) -> tuple[str, str]:
        thing, word = seeds.draw_one(self._rng, _NAMESAKE_KINDS), entity.word
        text = seeds.draw_one(self._rng, _NAMESAKE_TEXTS).format(
            word=word,
            a=entity_pages.with_article(thing),
            day=self._values.draw_value(_DATE_FIELD).text,
            number=self._values.draw_value(_NUMBER_FIELD).text,
        )
        return f"Register of names: {thing}", text
