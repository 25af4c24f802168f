"""Alignment: the measures are what their formulas say, and the readings differ where they say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import log
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.core.records import Tool
from toolmark.scoring import alignment
from toolmark.scoring.step_structure import count_inversions

READINGS: tuple[alignment.GradingRule, ...] = get_args(alignment.GradingRule)
Trajectory = list[dict[str, Any]]


def steps(*names: str) -> Trajectory:
    """Make a trajectory of calls that differ: a word per step, a letter per call."""
    count = iter(range(1000))
    return [
        {"step": at, "calls": [{"name": name, "arguments": {"i": next(count)}} for name in step]}
        for at, step in enumerate(names, 1)
    ]


def same(*names: str) -> Trajectory:
    """Make a trajectory in which the calls of a tool are all equal."""
    return [{"calls": [{"name": name, "arguments": {}} for name in step]} for step in names]


def score(
    truth: Trajectory, made: Trajectory, table: Any = None, reading: str = "official", **more: Any
) -> dict[str, Any]:
    similarity = alignment.exact_similarity() if table is None else table
    return alignment.align_trajectory(truth, made, similarity, rule=reading, **more)  # type: ignore[arg-type]


def values(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in ("recall", "precision", *alignment.COVERED_MEASURES)}


# --- random cases -----------------------------------------------------------------------


@st.composite
def cases(
    draw: st.DrawFn, *, tied: bool = False, wide: int = 3, long: int = 4
) -> tuple[Trajectory, Trajectory, NDArray[Any]]:
    """Draw two trajectories of a few calls of few tools, and how alike their calls are."""
    shape = st.lists(st.text("abc", max_size=wide), max_size=long)
    truth, made = steps(*draw(shape)), steps(*draw(shape))
    n, m = (sum(len(step["calls"]) for step in side) for side in (truth, made))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    table = rng.choice([0.5, 0.75, 1.0], (n, m)) if tied else rng.uniform(0.3, 1.0, (n, m))
    return truth, made, table.astype(np.float32)


def flat(side: Trajectory) -> list[tuple[str, int]]:
    return [(call["name"], at) for at, step in enumerate(side) for call in step["calls"]]


def matchings(
    truth: Sequence[str], made: Sequence[str], table: NDArray[Any], row: int = 0
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Go through all matchings of calls of equal tools that are alike enough."""
    if row == len(truth):
        yield ()
        return
    for rest in matchings(truth, made, table, row + 1):
        yield rest
        used = {j for _, j in rest}
        for j, name in enumerate(made):
            if name == truth[row] and j not in used and table[row, j] >= np.float32(0.6):
                yield ((row, j), *rest)


def literal(truth: Trajectory, made: Trajectory, found: Mapping[str, Any]) -> dict[str, float]:
    """Return the official measures by their formulas, as slowly as they are written (2.3)."""
    g = [step for _, step in flat(truth)]
    p = [step for _, step in flat(made)]
    pairs = [(g[i], p[j], float(s)) for i, j, s in found["matches"]]
    n, m, k = len(g), len(p), len(pairs)
    recall = k / n
    coherence = 0.0
    for step in range(len(truth)):
        hit = {b for a, b, _ in pairs if a == step}
        split = 0.0 if len(hit) <= 1 else (len(hit) - 1) / len(hit)
        coherence += sum(a == step for a, _, _ in pairs) * (1 - split) / n
    inverted = comparable = 0
    for (a, b, _), (c, d, _) in combinations(pairs, 2):
        comparable += a != c and b != d
        inverted += (a - c) * (b - d) < 0
    matched = [sum(a == step for a, _, _ in pairs) for step in range(len(truth))]
    sizes = [len(step["calls"]) for step in truth]
    covered, all_pairs = (
        sum(x * y for x, y in combinations(counts, 2)) for counts in (matched, sizes)
    )
    return {
        "recall": recall,
        "precision": k / m,
        "avg_sim_all_cov": sum(s for _, _, s in pairs) / n,
        "avg_sim_strong_cov": sum(s for _, _, s in pairs if s >= 0.8) / n,
        "step_coherence_cov": coherence,
        "order_consistency_cov": (1 - (inverted / comparable if comparable else 0))
        * (covered / all_pairs if all_pairs else 0),
        "merge_purity_cov": recall * purity(pairs),
    }


def purity(pairs: Sequence[tuple[int, int, float]]) -> float:
    active = {a for a, _, _ in pairs}
    if len(active) <= 1:
        return 1.0
    total = sum(s for _, _, s in pairs)
    entropy = 0.0
    for column in {b for _, b, _ in pairs}:
        mass = sum(s for _, b, s in pairs if b == column)
        for row in active:
            q = sum(s for a, b, s in pairs if (a, b) == (row, column)) / mass
            entropy -= mass / total * (q * log(q + 1e-12) if q else 0)
    return min(max(1 - entropy / log(len(active)), 0), 1)


@settings(deadline=None)  # every matching is gone through
@given(cases(wide=2, long=3))
def test_the_measures_are_those_of_the_formulas_on_the_best_matching(
    case: tuple[Trajectory, Trajectory, NDArray[Any]],
) -> None:
    truth, made, table = case
    names, others = ([name for name, _ in flat(side)] for side in (truth, made))
    if not names or not others:
        return
    found = score(truth, made, table)
    best = max(
        matchings(names, others, table),
        key=lambda pairs: (len(pairs), sum(float(table[pair]) for pair in pairs)),
    )
    assert sorted((i, j) for i, j, _ in found["matches"]) == sorted(best)
    assert values(found) == pytest.approx(literal(truth, made, found), abs=1e-6)


@given(st.lists(st.integers(0, 9), max_size=80))
def test_inversions_are_pairs_out_of_order(numbers: list[int]) -> None:
    assert count_inversions(numbers) == sum(a > b for a, b in combinations(numbers, 2))


@given(cases(tied=True), st.sampled_from(READINGS))
def test_measures_are_shares(
    case: tuple[Trajectory, Trajectory, NDArray[Any]], reading: alignment.GradingRule
) -> None:
    found = score(*case, reading)
    assert all(0 <= value <= 1 + 1e-12 for value in values(found).values())
    assert found["avg_sim_strong_cov"] <= found["avg_sim_all_cov"] <= found["recall"] + 1e-12


@given(cases(), st.randoms(use_true_random=False), st.sampled_from(READINGS))
def test_the_order_of_calls_within_a_step_means_nothing(
    case: tuple[Trajectory, Trajectory, NDArray[Any]], rng: Any, reading: alignment.GradingRule
) -> None:
    truth, made, table = case
    before = values(score(truth, made, table, reading))
    orders = []
    for side in (truth, made):
        order: list[int] = []
        for step in side:
            part = list(range(len(order), len(order) + len(step["calls"])))
            step["calls"] = list(step["calls"])
            shuffled = list(zip(part, step["calls"], strict=True))
            rng.shuffle(shuffled)
            step["calls"] = [call for _, call in shuffled]
            order += [at for at, _ in shuffled]
        orders.append(np.array(order, dtype=int))
    after = values(score(truth, made, table[orders[0]][:, orders[1]], reading))
    assert after == pytest.approx(before, abs=1e-6)


@given(cases(), st.sampled_from(READINGS))
def test_a_call_that_matches_nothing_lowers_precision_alone(
    case: tuple[Trajectory, Trajectory, NDArray[Any]], reading: alignment.GradingRule
) -> None:
    truth, made, table = case
    if not len(table):
        return
    wider = np.hstack([table, np.ones((len(table), 1), dtype=np.float32)])
    before = score(truth, made, table, reading)
    after = score(truth, [*made, *steps("z")], wider, reading)
    assert after["precision"] <= before["precision"]
    for name in ("recall", *alignment.COVERED_MEASURES):
        assert after[name] == pytest.approx(before[name], abs=1e-6)


# --- against itself ---------------------------------------------------------------------


@given(st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=5))
def test_a_truth_against_itself_is_perfect(names: list[str]) -> None:
    truth = steps(*names)
    for reading in READINGS:
        found = values(score(truth, truth, reading=reading))
        if reading == "official" and len(names) == 1:
            assert found.pop("order_consistency_cov") == 0
        assert found == pytest.approx(dict.fromkeys(found, 1.0))


@given(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5))
def test_repeated_calls_cost_nothing_by_the_fair_rule(names: list[str]) -> None:
    found = values(score(same(*names), same(*names), reading="fair"))
    assert found == pytest.approx(dict.fromkeys(found, 1.0))


# --- the fair rule -------------------------------------------------------------------


@given(cases(tied=True))
def test_ties_are_broken_without_a_loss_of_matches_or_likeness(
    case: tuple[Trajectory, Trajectory, NDArray[Any]],
) -> None:
    plain, fair = score(*case), score(*case, "fair")
    assert fair["matched"] == plain["matched"]
    assert fair["avg_sim_all_cov"] == pytest.approx(plain["avg_sim_all_cov"], abs=1e-12)
    keep = ("step_coherence_cov", "merge_purity_cov")
    order = score(*case, "paper")["order_consistency_cov"]
    if fair["matched"] and len(case[0]) > 1:
        pairs = [(i, j) for i, j, _ in fair["matches"]]
        agreed = sum(fair[name] for name in keep) + ordered(case[0], case[1], pairs, fair)
        assert agreed >= sum(plain[name] for name in keep) + order - 1e-6


def ordered(
    truth: Trajectory, made: Trajectory, pairs: list[tuple[int, int]], found: Mapping[str, Any]
) -> float:
    g, p = ([step for _, step in flat(side)] for side in (truth, made))
    at = [(g[i], p[j]) for i, j in pairs]
    both = [(a, b, c, d) for (a, b), (c, d) in combinations(at, 2) if a != c and b != d]
    wrong = sum((a - c) * (b - d) < 0 for a, b, c, d in both)
    return float((1 - (wrong / len(both) if both else 0)) * found["recall"])


@pytest.mark.parametrize("n", [3, 300])
def test_likeness_is_never_given_up_for_structure(n: int) -> None:
    """The reversed order is the more alike by one part in 2^24: it wins, however many there are."""
    truth, made = steps(*"a" * n), steps(*"a" * n)
    table = np.full((n, n), np.float32(0.75))
    np.fill_diagonal(table[:, ::-1], np.nextafter(np.float32(0.75), np.float32(1)))
    found = score(truth, made, table, "fair")
    assert [(i, j) for i, j, _ in found["matches"]] == [(i, n - 1 - i) for i in range(n)]
    flat_table = np.full((n, n), np.float32(0.75))
    level = score(truth, made, flat_table, "fair")
    assert [(i, j) for i, j, _ in level["matches"]] == [(i, i) for i in range(n)]


def test_a_repeated_call_is_matched_where_its_step_is() -> None:
    found = score(same("ab", "c"), same("a", "ba", "c"), reading="fair")
    assert values(found) == pytest.approx(values(found) | {"step_coherence_cov": 1.0})
    assert [0, 2] in [match[:2] for match in found["matches"]]
    lone = score(same("a", "b", "a"), same("b", "a"), reading="fair")
    assert lone["order_consistency_cov"] == pytest.approx(1 / 3)
    assert [2, 1, 1.0] in lone["matches"]


def test_failed_calls_match_nothing_by_the_fair_rule() -> None:
    truth, made = same("a", "b"), same("a", "a", "b")
    first = score(truth, made, reading="fair", failed=[0])
    assert sorted(match[:2] for match in first["matches"]) == [[0, 1], [1, 2]]
    assert (first["recall"], first["precision"]) == (1.0, pytest.approx(2 / 3))
    none = score(truth, made, reading="fair", failed=range(3))
    assert set(values(none).values()) == {0.0}
    for reading in ("official", "paper"):
        assert score(truth, made, reading=reading, failed=range(3))["matched"] == 2


def test_a_missing_prediction_counts_only_by_the_fair_rule() -> None:
    truth = same("a", "b")
    for reading, n in (("official", 1), ("paper", 1), ("fair", 2)):
        rows = [
            alignment.align_trajectory(truth, made, alignment.exact_similarity(), rule=reading)  # type: ignore[arg-type]
            for made in (truth, None)
        ]
        pooled = alignment.aggregate_alignments(rows)
        assert pooled["num_ids"] == n
        assert pooled["recall"] == pooled["merge_purity_cov"] == 1 / n
    nothing = alignment.align_trajectory([], None, alignment.exact_similarity(), rule="fair")
    assert set(values(nothing).values()) == {0.0}


def test_order_is_covered_by_what_the_rule_says() -> None:
    truth, made = same("a", "b", "cd"), same("a", "b", "c")
    found = {reading: score(truth, made, reading=reading) for reading in READINGS}
    orders = {reading: row["order_consistency_cov"] for reading, row in found.items()}
    assert orders == pytest.approx({"official": 3 / 5, "paper": 3 / 4, "fair": 3 / 5})
    single = {reading: score(same("ab"), same("a"), reading=reading) for reading in READINGS}
    orders = {reading: row["order_consistency_cov"] for reading, row in single.items()}
    assert orders == {"official": 0.0, "paper": 0.5, "fair": 0.5}


# --- over tasks -------------------------------------------------------------------------


@given(st.lists(cases(), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_pooling_weighs_calls_and_minds_no_order(
    drawn: list[tuple[Trajectory, Trajectory, NDArray[Any]]], rng: Any
) -> None:
    rows = [score(*case) for case in drawn]
    pooled = alignment.aggregate_alignments(rows)
    n = sum(row["total_gt_calls"] for row in rows)
    for name in alignment.COVERED_MEASURES:
        want = sum(row[name] for row in rows for _ in range(row["total_gt_calls"])) / max(n, 1)
        assert pooled[name] == pytest.approx(want)
    assert pooled["recall"] == pytest.approx(sum(row["matched"] for row in rows) / max(n, 1))
    assert pooled["avg_Rounds"] == pytest.approx(sum(len(case[1]) for case in drawn) / len(rows))
    rng.shuffle(rows)
    assert alignment.aggregate_alignments(rows) == pytest.approx(pooled)
    assert alignment.aggregate_alignments([*rows, *rows])["precision"] == pytest.approx(
        pooled["precision"]
    )


def test_nothing_pools_to_nothing() -> None:
    assert set(alignment.aggregate_alignments([]).values()) == {0}


def test_averages_are_those_of_the_papers_tables() -> None:
    """The row of GPT-5 in Table 2: 0.482 is the mean of seven."""
    row = dict(zip(alignment.COVERED_MEASURES, (0.583, 9.0, 0.502, 0.290, 0.453), strict=True))
    row |= {"recall": 0.627, "precision": 0.264}
    assert round(alignment.mean_of_seven_measures(row, 0.657), 3) == 0.482
    assert round(alignment.mean_of_eight_measures(row, 0.657, 0.671), 4) == 0.5059


# --- texts ------------------------------------------------------------------------------

TOOL = Tool(
    name="s/find",
    parameters={
        "type": "object",
        "required": ["query", "box", "kinds"],
        "properties": {
            "query": {"type": "string"},
            "kinds": {"type": "array", "items": {"type": "string"}},
            "box": {"type": "array", "minItems": 2, "maxItems": 2},
            "limit": {"type": "integer", "default": 5},
            "options": {"$ref": "#/$defs/Options", "default": {}},
        },
        "$defs": {
            "Options": {
                "type": "object",
                "properties": {"deep": {"default": False}, "next": {"$ref": "#/$defs/Options"}},
            },
            "Round": {"$ref": "#/$defs/Round"},
        },
    },
)


def test_the_papers_text_has_the_tool_and_its_required_arguments_in_any_order() -> None:
    write = alignment.paper_text_writer([TOOL])
    given = {"query": "é", "kinds": ["b", "a"], "box": [2, 1], "limit": 9}
    want = 's/find {"box":[2,1],"kinds":["a","b"],"query":"é"}'
    assert write({"name": " s/find ", "arguments": given}) == want
    other = {"rows": [["b", "a"], ["d", "c"]], "tags": [2, 10], "in": [{"z": ["y", "x"]}]}
    reported = write({"name": "o", "arguments": other})
    assert reported == 'o {"in":[{"z":["x","y"]}],"rows":[["b","a"],["d","c"]],"tags":[10,2]}'
    assert write({"name": "o"}) == "o null"


def test_a_function_is_given_the_texts_of_the_rule() -> None:
    call = {"name": "s/find", "arguments": {"query": "x", "limit": 1}}
    for reading, want in (
        ("official", '{"limit":1,"query":"x"}'),
        ("fair", '{"limit":1,"query":"x"}'),
        ("paper", 's/find {"query":"x"}'),
    ):
        seen: list[Sequence[str]] = []

        def similar(
            one: Sequence[str], other: Sequence[str], seen: list[Sequence[str]] = seen
        ) -> list[list[float]]:
            seen.extend((one, other))
            return [[1.0]]

        score([{"calls": [call]}], [{"calls": [call]}], similar, reading, tools=[TOOL])
        assert seen == [[want], [want]]
        assert want in set(alignment.step_call_texts({"calls": [call]}, [TOOL]))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"query": "a"}, {"query": "a", "limit": 5}, True),
        ({"query": "a"}, {"query": "a", "limit": 5.0, "options": {"deep": False}}, True),
        ({"query": "a", "options": {"next": {}}},
         {"options": {"next": {"deep": False}, "deep": False}, "query": "a"}, True),
        ({"query": "a"}, '{"limit": 5, "query": "a"}', True),
        (None, {}, True),
        ({"query": "a"}, {"query": "a", "limit": 6}, False),
        ({"query": "a"}, {"query": "A"}, False),
        ({"kinds": ["a", "b"]}, {"kinds": ["b", "a"]}, False),
        ({"limit": 1}, {"limit": True}, False),
        ("{broken", "{broken", True),
        ("{broken", {}, False),
    ],
)  # fmt: skip
def test_exact_calls_are_equal_up_to_defaults(one: Any, other: Any, alike: bool) -> None:
    exact = alignment.exact_similarity([TOOL])
    texts = [exact.canonical_text({"name": "s/find", "arguments": given}) for given in (one, other)]
    assert exact(texts[:1], texts[1:]).tolist() == [[float(alike)]]


def test_a_schema_that_refers_to_itself_says_nothing() -> None:
    round_ = Tool(name="r", parameters={**TOOL.parameters, "$ref": "#/$defs/Round"})
    assert (
        alignment.exact_similarity([round_]).canonical_text({"name": "r", "arguments": {"a": 1.0}})
        == '{"a":1}'
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_texts_can_be_read_back(value: Any) -> None:
    assert json.loads(alignment.arguments_text(value)) == value
    written = alignment.exact_similarity().canonical_text(
        {"name": "a", "arguments": {"value": value}}
    )
    assert json.loads(written) == {"value": value}


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_cosines_lie_between_minus_one_and_one(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    found = alignment.cosine_matrix(one, other)
    assert found.dtype == np.float32
    assert np.abs(found).max(initial=0) <= 1
    norms = np.outer(np.linalg.norm(one, axis=1), np.linalg.norm(other, axis=1))
    assert np.allclose(found, one @ other.T / norms, atol=1e-5)
    assert alignment.cosine_matrix(np.zeros((1, 4)), np.ones((1, 4))).tolist() == [[0.0]]


# --- bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "made", "table", "more", "reported"),
    [
        (same("a"), same("a"), [[1, 2]], {}, "similarity is 1 x 2; expected 1 calls"),
        (same("a"), same("a"), [[float("nan")]], {}, "not finite"),
        (same("a"), same("a"), [[1]], {"rule": "fare"}, "no rule 'fare'; did you mean: fair"),
        (same("a"), same("a"), [[1]], {"failed": [1]}, "failed=1 is not a made call"),
        (["a"], same("a"), [[1]], {}, "step 0: expected"),
        ([{"calls": {"name": "a"}}], same("a"), [[1]], {}, "step 0: expected"),
        ([{"calls": ["a"]}], same("a"), [[1]], {}, "every call must be"),
        (7, same("a"), [[1]], {}, "expected a list of steps"),
        (None, same("a"), [[1]], {}, "expected a list of steps"),
        (same("a"), "ab", [[1]], {}, "expected a list of steps"),
        (same("aa"), same("a"), [[1], [1, 2]], {}, "expected rows of numbers, 2 x 1"),
        (same("a"), same("a"), [["alike"]], {}, "expected rows of numbers, 1 x 1"),
        (same("a"), same("a"), [[1]], {"failed": ["0"]}, "the numbers of made calls"),
        (same("a"), same("a"), [[1]], {"failed": 0}, "the numbers of made calls"),
        (same("a"), same("a"), [[1]], {"weak": float("nan")}, "weak=nan: expected a finite"),
        (same("a"), same("a"), [[1]], {"strong": "0.8"}, "strong='0.8': expected a finite"),
    ],
)
def test_what_does_not_fit_is_named(
    truth: Any, made: Any, table: Any, more: dict[str, Any], reported: str
) -> None:
    with pytest.raises(UsageError, match=reported):
        alignment.align_trajectory(truth, made, table, **more)


def deep(levels: int) -> list[Any]:
    collected: list[Any] = []
    for _ in range(levels):
        collected = [collected]
    return collected


def plainly(one: Sequence[str], other: Sequence[str]) -> Any:
    return np.ones((len(one), len(other)))


@pytest.mark.parametrize("reading", ["official", "paper", "fair"])
@pytest.mark.parametrize("similarity", [alignment.exact_similarity(), plainly])
@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ({1: "a", "b": 2}, "call 1 of the prediction: arguments are not JSON"),
        (deep(100_000), "call 1 of the prediction: arguments nested too deep"),
    ],
)
def test_arguments_that_no_json_holds_are_named(
    arguments: Any, reported: str, similarity: Any, reading: alignment.GradingRule
) -> None:
    made = [{"calls": [{"name": "a"}, {"name": "a", "arguments": arguments}]}]
    with pytest.raises(UsageError, match=reported):
        alignment.align_trajectory(same("a"), made, similarity, rule=reading)


def test_extra_keys_and_numbers_of_steps_mean_nothing() -> None:
    bare = same("ab", "", "a")
    rich = [{**step, "step": 7, "note": 1, "calls": step["calls"] or None} for step in bare]
    for step in rich:
        step["calls"] = [{**call, "result": "x", "id": 1} for call in step["calls"] or ()]
    assert score(rich, rich) == score(bare, bare)
