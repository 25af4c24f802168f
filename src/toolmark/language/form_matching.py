"""Find the written forms of a table in the pieces of a text, longest first, in linear time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from toolmark.language.value_tokens import ValueToken, cut_values

T = TypeVar("T")
MIN_FOLDED_CHARS = 2  # a form of one character is read in its case only


class _Form(NamedTuple, Generic[T]):
    folded: tuple[str, ...]
    written: tuple[str, ...]
    glued: tuple[bool, ...]
    meaning: T


class FoundForm(NamedTuple, Generic[T]):
    """What a written form means, and the token after it."""

    meaning: T
    last: int


class FormTable(Generic[T]):
    """Written forms with their meanings.

    A form in the case of the table comes before one in another case: mW is not MW.
    """

    def __init__(self, forms: Mapping[str, T]) -> None:
        self._by_first: dict[str, list[_Form[T]]] = {}
        for text, meaning in forms.items():
            tokens = cut_values(text)
            form = _Form(
                tuple(token.folded for token in tokens),
                tuple(token.text for token in tokens),
                tuple(token.glued for token in tokens),
                meaning,
            )
            self._by_first.setdefault(form.folded[0], []).append(form)
        for each in self._by_first.values():
            each.sort(key=lambda form: len(form.folded), reverse=True)

    def find_at(self, tokens: Sequence[ValueToken], at: int) -> FoundForm[T] | None:
        """Return the longest form that begins at a token, None where none does."""
        if at >= len(tokens):
            return None
        best: FoundForm[T] | None = None
        for form in self._by_first.get(tokens[at].folded, ()):
            last = at + len(form.folded)
            if best is not None and last < best.last:
                break
            if not _stands_at(form, tokens, at):
                continue
            exact = all(tokens[at + i].text == word for i, word in enumerate(form.written))
            if exact:
                return FoundForm(form.meaning, last)
            if best is None and sum(map(len, form.folded)) >= MIN_FOLDED_CHARS:
                best = FoundForm(form.meaning, last)
        return best

    def find_before(self, tokens: Sequence[ValueToken], end: int) -> tuple[T, int] | None:
        """Return the longest form that ends at a token (exclusive), and where it begins."""
        for start in range(max(end - 3, 0), end):
            found = self.find_at(tokens, start)
            if found is not None and found.last == end:
                return found.meaning, start
        return None


def _stands_at(form: _Form[T], tokens: Sequence[ValueToken], at: int) -> bool:
    if at + len(form.folded) > len(tokens):
        return False
    for i, word in enumerate(form.folded):
        token = tokens[at + i]
        if token.folded != word or (i and form.glued[i] and not token.glued):
            return False
    return True
