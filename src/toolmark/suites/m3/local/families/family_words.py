"""The questions of the families (`questions.toml`), and the words that tasks are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table

Question: TypeAlias = Annotated[
    str,
    Meta(pattern=placeholders("picture", "unit", "reader", "day", "batch", "folder", "database")),
]


class FamilyWords(DataRecord, frozen=True, kw_only=True):
    """The data file of words; its comments say what each table is for."""

    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    shop_names: tuple[str, ...]
    shop_kinds: tuple[str, ...]
    goods: tuple[str, ...]
    towns: tuple[str, ...]
    workdays: tuple[str, ...]
    paints: tuple[str, ...]
    measured_things: tuple[tuple[str, str], ...]
    periods: tuple[tuple[str, ...], ...]
    costs: tuple[str, ...]
    events: tuple[str, ...]
    titles: tuple[str, ...]
    plan_names: tuple[str, ...]
    guarded_places: tuple[str, ...]
    companies: tuple[str, ...]
    roles: tuple[str, ...]
    modules: tuple[str, ...]
    settings: tuple[str, ...]
    codenames: tuple[str, ...]
    today: tuple[str, ...]
    later: tuple[str, ...]
    pleas: tuple[str, ...]
    wings: tuple[str, ...]
    suppliers: tuple[str, ...]
    zones: dict[str, int]


def family_words() -> FamilyWords:
    """Return the words that tasks are drawn from."""
    return read_table(__file__, "family_words.toml", FamilyWords)


def family_questions() -> Mapping[str, Mapping[str, Question]]:
    """Return the questions by family and template, with their placeholders."""
    return read_table(__file__, "questions.toml", dict[str, dict[str, Question]])


def write_question(family: str, template: str, **values: str) -> str:
    """Return the question of a template with the values in their places."""
    return family_questions()[family][template].format(**values)
