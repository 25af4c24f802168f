"""Links from the rows of tables to the episodes behind them: by form and category.

Baselines answer no episode: their rows have no link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from toolmark.core.records import Cell, EpisodeFilter, Table
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet.tables.score_columns import FORMS, Variants

_BOTH_RULES = "both rules"


def link_variants(
    table: Table, variants: Variants, *, name_at: int = 0, category_at: int | None = None
) -> Table:
    """Return a table with a row for each variant, linked.

    `name_at` is the column with the names of the variants, `category_at` that with the categories.
    """
    filters = []
    for row in table.rows:
        part = _find_variant(variants, str(row[name_at]))
        category = "" if category_at is None else str(row[category_at])
        filters.append(None if part is None else select_episodes(part, variants, category))
    return link_filters(table, filters, n_names=max(name_at, category_at or 0) + 1)


def link_filters(
    table: Table, filters: Iterable[EpisodeFilter | None], *, n_names: int = 1
) -> Table:
    """Return a table whose rows rest on these episodes; the first columns are names."""
    cells = (EpisodeFilter(),) * (len(table.head) - n_names)
    return replace(table, row_episodes=tuple(filters), column_episodes=(*(None,) * n_names, *cells))


def select_episodes(columns: Columns, variants: Variants, category: str = "") -> EpisodeFilter:
    """Return the filter of a variant's rows that ran, of one category where it is named."""
    part = columns.where(columns.category == category) if category else columns
    forms = {form for _, each in variants.values() for form in _present_forms(each)}
    own = _present_forms(columns)
    return EpisodeFilter(
        outcome="" if part.run.all() else "run",
        category=category,
        axes={"form": own[0]} if len(own) == 1 and len(forms) > 1 else {},
    )


def _present_forms(columns: Columns) -> Sequence[str]:
    return [form for form in FORMS if (columns.axis("form") == form).any()]


def _find_variant(variants: Variants, name: Cell) -> Columns | None:
    """Return the rows of a variant; None for the name of a baseline."""
    start = str(name).removesuffix(_BOTH_RULES)
    for label, (_, columns) in variants.items():
        if name == label or (start != name and label.startswith(start)):
            return columns
    return None
