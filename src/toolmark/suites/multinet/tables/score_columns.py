"""What tables read from the scores: rows by kind of answer, the baselines' rows, their groups.

A baseline answers every row, so its rows are the run's rows with other values. The same measures
apply to both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Estimate
from toolmark.scoring.error_statistics import GRADING_RULES, GradingRule
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.interval_limits import FEWEST_GROUPS
from toolmark.statistics.score_columns import (
    Columns,
    Mask,
    Numbers,
    describe_partial,
    ordered_levels,
    part_as_value,
    split_rows,
    with_values,
)
from toolmark.suites.multinet.frame_records import ACTIONS
from toolmark.suites.multinet.multinet_families import FAMILIES_BY_BASELINE

AnswerKind: TypeAlias = Literal["odds", "choice", "motion", "words", "calls", ""]
Variants: TypeAlias = dict[str, tuple[GradingRule, Columns]]

GUESS_PREFIX = "guess."
EVEN_NOTE = "50 % is no better"
"""The reference for the share of rows closer than the mean: the mean itself is closer in no row."""
FEW_GROUPS_NOTE = f", of errors and similarities from {FEWEST_GROUPS} of them on"
MIN_FILTERED_ROWS = 20
"""With fewer rows than this, a percentile filter leaves too few to be useful."""
OWN_RUN_LABEL = "this run"
ACTION_NAMES = tuple(action.lower() for action in ACTIONS)
ACTION_LETTERS = ("N", "S", "E", "W", "·", "I")
FORMS = ("text", "tool")
_RULE_SUFFIX = " rule"
_HISTORY_BASELINES = ("previous", "linear")
_HISTORY_MARK = "*"
_HISTORY_CAVEAT = (
    f" {_HISTORY_MARK} answers by what was right before, which the model was not given here "
    "(history=0): no measure of what it should reach."
)
_CATEGORY_NAMES = {
    "layout": "layout", "subset": "sub-set", "type": "type of question", "morphology": "morphology",
}  # fmt: skip
_CATEGORY_PLURALS = {
    "morphology": "morphologies", "category": "categories", "type of question": "types of question",
}  # fmt: skip
_KIND_BY_PART: tuple[tuple[str, AnswerKind], ...] = (
    ("p", "odds"), ("brier", "odds"), ("truth", "choice"), ("mae", "motion"), ("turns", "calls"),
    ("ast", "calls"), ("exact", "words"),
)  # fmt: skip
_KIND_BY_FAMILY: Mapping[str, AnswerKind] = {
    "piqa": "choice", "odinw": "choice", "overcooked": "choice", "sqa3d": "words",
    "robovqa": "words", "bfcl": "calls", "openx": "motion",
}  # fmt: skip


def answer_kind(columns: Columns) -> AnswerKind:
    """Return the kind of answer by the parts of the verdicts; "" if nothing ran."""
    return next((kind for part, kind in _KIND_BY_PART if has_number(columns, part).any()), "")


def intended_kind(columns: Columns) -> AnswerKind:
    """Return the kind of answer by the family of the rows, for rows without verdicts."""
    return next(
        (
            _KIND_BY_FAMILY[x]
            for x in ordered_levels(columns.axis("family"))
            if x in _KIND_BY_FAMILY
        ),
        "",
    )


def has_number(columns: Columns, part: str) -> Mask:
    """Return a mask of the rows where a part has a number."""
    return ~np.isnan(columns.part(part))


def is_clustered(columns: Columns) -> bool:
    """Return whether rows of one group depend on each other."""
    return bool((columns.axis("group") != "").any())


def interval_unit(columns: Columns) -> str:
    """Return the unit of intervals: groups if rows of a group depend on each other, else rows."""
    return "groups of rows that hang together" if is_clustered(columns) else "rows"


def interval_note(columns: Columns, limits: str = "") -> str:
    """Return a note on the brackets of a table, and on its marked baselines."""
    unit = interval_unit(columns)
    return f" In brackets 95 % intervals over {unit}{limits}.{history_caveat(columns)}"


def ran_by_category(columns: Columns) -> dict[str, Columns]:
    """Return the rows that ran by category; a category without any is left out."""
    ran = columns.where(columns.run)
    return split_rows(ran, ran.category)


def mean_share(columns: Columns, part: str, name: str = "") -> Estimate:
    """Return the mean over all rows, by groups, of a part that is in [0, 1]."""
    return estimate_mean(part_as_value(columns, part), name or part)


def valid_rows(columns: Columns) -> Columns:
    """Return the rows whose answer was valid."""
    return columns.where(columns.part("valid") == 1)


def is_synthetic(columns: Columns) -> bool:
    """Return whether any row is synthetic."""
    return bool((columns.axis("source") == "synthetic").any())


# --- baselines --------------------------------------------------------------------------


def baseline_names(columns: Columns) -> list[str]:
    """Return the names of the baselines that answered the rows, the least informed first.

    A baseline that answers with equal shares has no most probable option and is not included.
    """
    parts = [
        part.removeprefix(GUESS_PREFIX) for part in columns.parts if part.startswith(GUESS_PREFIX)
    ]
    names = {part.partition(".")[0] for part in parts} - {*uniform_baselines(columns)}
    first = [name for name in FAMILIES_BY_BASELINE if name in names]
    return [*first, *sorted(names - set(first))]


def history_baselines(columns: Columns) -> Collection[str]:
    """Return the baselines that know the earlier answers, which the model does not see."""
    return () if (columns.axis("history") != "").any() else _HISTORY_BASELINES


def baseline_label(columns: Columns, name: str) -> str:
    """Return the name of a baseline, marked if it knows what the model does not see."""
    return f"{name} {_HISTORY_MARK}" if name in history_baselines(columns) else name


def history_caveat(columns: Columns) -> str:
    """Explain the mark; "" if no baseline of these rows has it."""
    return _HISTORY_CAVEAT if {*history_baselines(columns)} & {*baseline_names(columns)} else ""


def uniform_baselines(columns: Columns) -> list[str]:
    """Return the names of the baselines that give each option the same probability."""
    ends = f"{GUESS_PREFIX}(.+)[.]brier"
    return sorted(found[1] for part in columns.parts if (found := re.fullmatch(ends, part)))


def baseline_rows(columns: Columns, name: str) -> Columns:
    """Return the rows that the baseline answered, with its answers: a choice or a text.

    The part for a text says whether the answer was exact; its similarity is not known. An index is
    scored as a model's index is.
    """
    answers = columns.part(f"{GUESS_PREFIX}{name}")
    answered = ~np.isnan(answers) & columns.run
    rows, answers = columns.where(answered), answers[answered]
    indexed = bool(has_number(rows, "truth").any())
    correct = (answers == rows.part("truth")).astype(float) if indexed else answers
    parts = {**rows.parts, "valid": np.ones(len(answers))}
    parts.pop("similarity", None)
    parts = _parts_for_index(parts, answers) if indexed else {**parts, "exact": answers}
    return replace(with_values(rows, correct), parts=parts)


def _parts_for_index(parts: dict[str, Numbers], indices: Numbers) -> dict[str, Numbers]:
    """Return the parts of rows with that index as the answer; its probability is 1."""
    odds = "brier" in parts
    result = {
        name: column
        for name, column in parts.items()
        if name.partition("_")[0] not in ("p", "top", "raw", "brier")
    }
    index_by_player = {"": indices}
    if "truth_0" in parts:
        index_by_player |= {"_0": indices // len(ACTION_NAMES), "_1": indices % len(ACTION_NAMES)}
    for player, index in index_by_player.items():
        result[f"predicted{player}"] = index
        if odds:
            result[f"brier{player}"] = np.where(index == parts[f"truth{player}"], 0.0, 2.0)
    return result | ({"brier_sq": result["brier"]} if odds else {})


def baseline_vector_rows(columns: Columns, name: str) -> Columns:
    """Return the rows with that baseline's errors; the mean's errors are in every row."""
    source = f"{GUESS_PREFIX}{name}."
    parts = {
        part: column for part, column in columns.parts.items() if not part.startswith(GUESS_PREFIX)
    }
    for part in ("mae", "mse"):
        parts[part] = columns.part(f"{source}{part}")
    parts["valid"] = np.ones(len(columns))
    nearer = (parts["mae"] < columns.part("base_mae")) | (parts["mae"] == 0)
    closer = np.where(np.isnan(parts["mae"]), np.nan, nearer)
    result = replace(with_values(columns, closer), parts=parts)
    return result.where(columns.run & result.run)


def mean_vector_rows(columns: Columns) -> Columns:
    """Return the rows with the training mean's errors; each has value 0.5, a tie with itself."""
    return with_values(
        columns, np.where(columns.run & has_number(columns, "base_mae"), 0.5, np.nan)
    )


# --- grading rules and forms ------------------------------------------------------------


def are_equal(a: Columns, b: Columns) -> bool:
    """Return whether two grading rules gave the same values and parts."""
    return (
        np.array_equal(a.task, b.task)
        and np.array_equal(a.value, b.value, equal_nan=True)
        and a.parts.keys() == b.parts.keys()
        and all(np.array_equal(x, b.parts[n], equal_nan=True) for n, x in a.parts.items())
    )


def split_variants(columns_by_rule: Mapping[str, Columns]) -> Variants:
    """Return a run's rows by form, if it has both, and by grading rule.

    Grading rules with equal results appear once, with the first of these rules. A form in which
    nothing ran is left out.
    """
    result: dict[str, tuple[GradingRule, Columns]] = {}
    first = next(iter(columns_by_rule.values()))
    forms = [form for form in FORMS if (first.axis("form") == form).any()]
    for form in forms if len(forms) > 1 else ("",):
        parts = {
            name: columns.where(columns.axis("form") == form) if form else columns
            for name, columns in columns_by_rule.items()
        }
        if form and not any(columns.run.any() for columns in parts.values()):
            continue
        found: dict[str, tuple[list[str], Columns]] = {}
        for name, columns in parts.items():
            equal_rule = next((key for key, (_, x) in found.items() if are_equal(x, columns)), None)
            if equal_rule is None:
                found[name] = ([name], columns)
            else:
                found[equal_rule][0].append(name)
        for rule, (names, columns) in found.items():
            rule_label = f"{' and '.join(names)}{_RULE_SUFFIX}" if len(found) > 1 else ""
            result[", ".join(filter(None, (form, rule_label)))] = (_rule_of_name(rule), columns)
    return result


def _rule_of_name(name: str) -> GradingRule:
    return "reference" if name == "reference" else "paper"


def first_variant_by_form(variants: Variants) -> Variants:
    """Return the first rows of each form, by its name; the name is "" if there is only one form."""
    result: Variants = {}
    for label, found in variants.items():
        form = label.partition(", ")[0]
        result.setdefault(form if form in FORMS else "", found)
    return result


def merge_equal_rows(rows: Iterable[tuple[Cell, ...]], at: int = 0) -> tuple[tuple[Cell, ...], ...]:
    """Merge rows that differ only in their grading rule; cell `at` is the name of the row."""
    merged: dict[tuple[Cell, ...], tuple[Cell, ...]] = {}
    for row in rows:
        name = str(row[at])
        run, _, rule = name.removesuffix(_RULE_SUFFIX).rpartition(" ")
        ends_with_rule = name.endswith(_RULE_SUFFIX) and rule in GRADING_RULES
        key = (*row[:at], run if ends_with_rule else name, ends_with_rule, *row[at + 1 :])
        earlier = merged.get(key)
        label = (
            f"{run} both rules" if ends_with_rule and earlier and earlier[at] != name else row[at]
        )
        merged[key] = (*row[:at], label, *row[at + 1 :])
    return tuple(merged.values())


def most_valid_variant(variants: Variants) -> tuple[str, tuple[GradingRule, Columns]]:
    """Return the variant that charts use, and a text that distinguishes it from others.

    It is the form with the most valid answers (text for a tie), under its first grading rule.
    """
    found = first_variant_by_form(variants)
    form = max(found, key=lambda form: int((found[form][1].part("valid") == 1).sum()))
    return next((label, each) for label, each in variants.items() if each is found[form])


def label_variants(variants: Variants, run: str = OWN_RUN_LABEL) -> Variants:
    """Return the variants with the row names that tables use: the run, and which variant."""
    return {f"{run}: {label}" if label else run: found for label, found in variants.items()}


def rows_with_baselines(variants: Variants) -> Iterator[tuple[str, GradingRule, Columns]]:
    """Yield the run's rows, then the baselines' rows, which answer the same items."""
    yield from ((name, rule, columns) for name, (rule, columns) in variants.items())
    rule, first = first_variant(variants)
    for name in baseline_names(first):
        yield baseline_label(first, name), rule, baseline_rows(first, name)


def first_variant(rows: Variants) -> tuple[GradingRule, Columns]:
    """Return the first variant: its grading rule and its rows."""
    return next(iter(rows.values()))


# --- classes ----------------------------------------------------------------------------


def count_options(columns: Columns) -> int:
    """Return the number of options, the largest number if rows differ."""
    numbers = columns.part("classes")
    if not np.isnan(numbers).all():
        return int(np.nanmax(numbers))
    return len(ACTION_NAMES) ** 2 if has_number(columns, "truth_0").any() else 2


def option_names(columns: Columns, n: int, *, short: bool = False) -> list[str]:
    """Return the options' names; "#10" for one that is never correct here and has no known name.

    Options that differ by row have no names; their index is used.
    """
    if has_number(columns, "truth_0").any() and n == len(ACTION_NAMES) ** 2:
        if short:
            return [a + b for a in ACTION_LETTERS for b in ACTION_LETTERS]
        return [f"{a}, {b}" for a in ACTION_NAMES for b in ACTION_NAMES]
    truth, level = columns.part("truth"), columns.axis("class")
    found = {int(t): str(c) for t, c in zip(truth, level, strict=True) if c and not np.isnan(t)}
    names = {i: label.partition(" ")[2] for i, label in found.items()}  # the name follows the index
    return [names.get(i, f"#{i}" if names else str(i)) for i in range(n)]


def option_sets(columns: Columns) -> Iterator[tuple[str, Columns]]:
    """Yield sets of rows whose options are the same: all rows, else category by category."""
    if has_shared_options(columns):
        yield "", columns
        return
    yield from split_rows(columns, columns.category).items()


def has_shared_options(columns: Columns) -> bool:
    """Return whether an index means the same option in every row."""
    if has_number(columns, "truth_0").any():
        return True
    numbers = columns.part("classes")
    several = len(set(numbers[~np.isnan(numbers)].tolist())) > 1
    return not several and len(ordered_levels(columns.category[columns.axis("class") != ""])) < 2


def category_name(columns: Columns) -> str:
    """Return what a category is: the slice whose levels are the categories."""
    found = (
        label
        for axis, label in _CATEGORY_NAMES.items()
        if (columns.axis(axis) == columns.category).all()
    )
    return next(found, "category")


def missing_categories_note(columns: Columns) -> str:
    """Return how many categories ran, "4 of 5 morphologies run"; "" if all ran."""
    return describe_partial(columns, category_plural(columns))


def category_plural(columns: Columns) -> str:
    """Return the plural of the category name, "morphologies"."""
    word = category_name(columns)
    return _CATEGORY_PLURALS.get(word, f"{word}s")


def invalid_share(columns: Columns) -> str:
    """Return the share of answers that could not be read, a dash if there are no answers."""
    if not len(columns):
        return number_format.DASH
    return number_format.format_percent(1 - float(columns.part("valid").mean()))


def baseline_share(columns: Columns, name: str) -> str | None:
    """Return a baseline's share of correct answers on these rows."""
    found = baseline_rows(columns, name)
    return number_format.format_percent(float(found.value.mean())) if len(found) else None
