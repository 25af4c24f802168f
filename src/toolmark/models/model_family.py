"""The family of a model, by its name: a judge tends to favour models of its own family."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core import user_modules
from toolmark.core.data_files import DataRecord, read_table

NameStart: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$")]
_STEM = re.compile(r"[a-z]{3,}")
_NOT_ASKED = ("control/", "baseline/")


class FamilyTable(DataRecord, frozen=True):
    """The data file: how names of models begin, by family."""

    families: dict[NameStart, frozenset[NameStart]]


def model_family(name: str) -> str:
    """Return the family of a model as toolmark names it, "" where the name does not say.

    `openai/gpt-5-mini`, `openrouter/openai/gpt-5-mini` and `http://host/v1#gpt-5-mini` are of one
    family. A name that the table does not list is of a family by its first letters. Controls,
    baselines and Python objects have none.
    """
    if (
        name.startswith(_NOT_ASKED)
        or user_modules.is_code_spec(name)
        or user_modules.is_file_spec(name)
    ):
        return ""
    path = re.split(r"[#/]", name.lower())
    model = path[-1]
    starts = {
        start: family
        for family, names in read_table(
            __file__, "model_families.toml", FamilyTable
        ).families.items()
        for start in names
    }
    for length in range(len(model), 0, -1):
        if model[:length] in starts and not _continues_word(model, length):
            return starts[model[:length]]
    stem = _STEM.match(model) if len(path) > 1 else None
    return stem[0] if stem is not None else ""


def _continues_word(text: str, at: int) -> bool:
    """Return whether a word or a number goes on at this place."""
    before, after = text[at - 1 : at], text[at : at + 1]
    return (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isdigit())
