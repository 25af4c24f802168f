"""The harness finds every kind of difference, renames, and accepts nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.golden import (
    __main__,
    accepted,
    checking,
    differences,
    files,
    mutation,
    names,
    paths,
    recording,
)
from tests.golden.differences import ABSENT, Difference
from tests.golden.normalise import Normaliser, long, once
from tests.golden.paths import Json

RECORD: Json = {
    "scores": [
        {"task": "a", "value": 0.1, "absent_why": "", "labels": [{"cause": "wrong_tool"}]},
        {"task": "b", "value": 1.0, "absent_why": "world: gone", "labels": []},
    ],
    "summary": {"value": 0.55, "n": 2, "odd key": None, "flag": True},
    "text": "tool_format native",
}

Change = Callable[[Json], object]
PLANTED: dict[str, tuple[Change, str]] = {
    "changed number": (lambda r: r["summary"].update(value=0.5500000000000002), "summary.value"),
    "changed text": (lambda r: r["scores"][0].update(task="A"), "scores[0].task"),
    "whole to fraction": (lambda r: r["summary"].update(n=2.0), "summary.n"),
    "true to one": (lambda r: r["summary"].update(flag=1), "summary.flag"),
    "null to nothing": (lambda r: r["summary"].pop("odd key"), 'summary["odd key"]'),
    "missing key": (lambda r: r["scores"][1].pop("absent_why"), "scores[1].absent_why"),
    "extra key": (lambda r: r["scores"][1].update(more=[]), "scores[1].more"),
    "changed order": (lambda r: r["scores"].reverse(), "scores[0].task"),
    "missing row": (lambda r: r["scores"].pop(0), "scores[0]"),
    "extra row": (lambda r: r["scores"].insert(0, {}), "scores[0]"),
    "nan": (lambda r: r["summary"].update(value={"float": "nan"}), "summary.value"),
    "renamed key": (lambda r: r.update(words=r.pop("text")), "text"),
    "emptied list": (lambda r: r["scores"][0]["labels"].clear(), "scores[0].labels[0]"),
}


def copy(value: Json) -> Json:
    return files.loads(files.dumps(value))


def places(old: Json, new: Json) -> list[str]:
    return [paths.text(each.place) for each in differences.compare("case", "scenario", old, new)]


def test_an_equal_record_does_not_differ() -> None:
    assert places(RECORD, copy(RECORD)) == []


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_difference_is_found(kind: str) -> None:
    changed = copy(RECORD)
    change, place = PLANTED[kind]
    change(changed)
    assert place in places(RECORD, changed)


def test_rows_are_laid_side_by_side_where_their_number_changed() -> None:
    rows = [{"n": n} for n in range(20)]
    assert places(rows, rows[:5] + rows[6:]) == ["[5]"]
    assert places(rows, [*rows[:5], {"n": -1}, *rows[5:]]) == ["[5]"]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_odd_floats_are_recorded_and_distinguished_from_numbers_and_texts(odd: float) -> None:
    made = files.loads(files.dumps(files.plain({"x": odd})))
    assert made == {"x": {"float": repr(odd)}}
    assert places(made, {"x": 0.0}) == places(made, {"x": repr(odd)}) == ["x"]


def test_a_value_that_is_not_plain_is_refused_with_its_place() -> None:
    with pytest.raises(files.NotPlain, match=r"a\[1\].b"):
        files.plain({"a": [0, {"b": {1, 2}}]})
    with pytest.raises(files.NotPlain, match="not text"):
        files.plain({1: 2})


def test_floats_may_differ_only_as_far_as_the_record_says() -> None:
    old = {"$tolerance": {"mean[]": 1e-3}, "mean": [1.0, 2], "exact": 1.0}
    assert places(old, {**old, "mean": [1.0009, 2.0]}) == []
    assert places(old, {**old, "mean": [1.0011, 2]}) == ["mean[0]"]
    assert places(old, {**old, "exact": 1.0000001}) == ["exact"]
    assert places(old, {**old, "mean": [True, 2]}) == ["mean[0]"]
    assert places(old, {**old, "$tolerance": {"mean[]": 1.0}}) == ['$tolerance["mean[]"]']


@pytest.mark.parametrize(
    "text",
    [".", "a", "a.b", "a[0].b", 'a["x y"].c', "a[].b", "**.absent_why", "a.*.c", '["a.b"][3]'],
)
def test_a_pattern_reads_as_it_is_written(text: str) -> None:
    assert paths.text(paths.parse(text)) == text


@pytest.mark.parametrize(
    ("pattern", "place", "same"),
    [
        ("scores[].value", "scores[3].value", True),
        ("scores[].value", "scores[3].n", False),
        ("scores[2].value", "scores[3].value", False),
        ("**.value", "a.b[0].value", True),
        ("**", ".", True),
        ("a.*.c", "a.b.c", True),
        ("a.*.c", "a[0].c", False),
        ("parts.pass*", 'parts["pass^2"]', True),
        (".", "a", False),
    ],
)
def test_a_pattern_names_its_places(pattern: str, place: str, same: bool) -> None:
    assert paths.matches(paths.parse(pattern), paths.parse(place)) is same


def test_a_pattern_that_cannot_be_read_says_where() -> None:
    with pytest.raises(paths.BadPattern, match="from"):
        paths.parse("a[x]")


# --- renames ------------------------------------------------------------------------------


def mapped(**entries: list[dict[str, object]]) -> names.Names:
    return {"keys": [], "paths": [], "values": [], **entries}


def test_keys_paths_and_values_are_renamed() -> None:
    known = mapped(
        keys=[{"old": "task", "new": "id"}],
        paths=[{"old": "scores[].absent_why", "new": "scores[].failure.message"}],
        values=[
            {"in": "**.cause", "old": "wrong_tool", "new": "other_tool"},
            {"in": "text", "old": "tool_format", "new": "tool format", "whole": False},
        ],
    )
    made = names.renamed("any", RECORD, known)
    assert [each["id"] for each in made["scores"]] == ["a", "b"]
    assert made["scores"][1]["failure"] == {"message": "world: gone"}
    assert made["scores"][0]["labels"] == [{"cause": "other_tool"}]
    assert made["text"] == "tool format native"
    assert "task" in RECORD["scores"][0]


def test_a_rename_is_no_excuse_for_another_value() -> None:
    known = mapped(keys=[{"old": "task", "new": "id"}])
    fresh = names.renamed("any", RECORD, known)
    assert places(names.renamed("any", RECORD, known), fresh) == []
    fresh["scores"][1]["id"] = "c"
    assert places(names.renamed("any", RECORD, known), fresh) == ["scores[1].id"]


def test_nested_keys_of_one_name_are_all_renamed() -> None:
    known = mapped(keys=[{"old": "a", "new": "b", "in": "**"}])
    assert names.renamed("x", {"a": {"a": [{"a": 1}]}}, known) == {"b": {"b": [{"b": 1}]}}


def test_an_entry_holds_for_its_case_and_its_place_only() -> None:
    known = mapped(keys=[{"old": "value", "new": "mean", "in": "summary", "case": "suite_*"}])
    assert names.renamed("other", RECORD, known) == RECORD
    made = names.renamed("suite_bfcl", RECORD, known)
    assert made["summary"]["mean"] == 0.55 and made["scores"][0]["value"] == 0.1


@pytest.mark.parametrize(
    "known",
    [
        mapped(keys=[{"old": "task", "new": "value"}]),
        mapped(paths=[{"old": "text", "new": "summary.n"}]),
    ],
)
def test_a_rename_that_would_drop_a_value_is_refused(known: names.Names) -> None:
    with pytest.raises(names.BadNames):
        names.renamed("any", RECORD, known)


@pytest.mark.parametrize("wrong", ['{"key": []}', '{"keys": [{"old": "a"}]}'])
def test_a_map_of_names_with_odd_fields_is_refused(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "names.json"
    path.write_text(wrong)
    with pytest.raises(names.BadNames):
        names.read(path)


def test_the_stored_maps_can_be_read() -> None:
    names.read()
    accepted.read()


# --- accepting ----------------------------------------------------------------------------


def entry(**more: object) -> accepted.Entry:
    return {"case": "case", "scenario": "*", "path": "**.value", "reason": "because",
            "numbers": True, **more}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [entry(reason=" "), entry(more=1), {"case": "x", "scenario": "y", "path": "z"}],
)
def test_an_entry_without_a_reason_or_with_odd_fields_is_an_error(
    tmp_path: Path, wrong: accepted.Entry
) -> None:
    path = tmp_path / "accepted.json"
    accepted.write([wrong], path)
    with pytest.raises(accepted.BadEntry):
        accepted.read(path)


def found(new: Json) -> list[Difference]:
    return differences.compare("case", "one", RECORD, new)


def test_a_pending_entry_lists_its_places_and_nothing_else() -> None:
    new = copy(RECORD)
    new["scores"][0]["value"] = 0.2
    new["text"] = "other"
    ours, rest = accepted.listed(found(new), [entry()])
    assert [paths.text(each.place) for each in ours] == ["scores[0].value"]
    assert [paths.text(each.place) for each in rest] == ["text"]


def test_a_pending_entry_is_not_looked_for_in_the_records() -> None:
    pending = entry()
    done = accepted.settled(pending, found(RECORD | {"text": "other"}))
    assert accepted.recorded([pending, done]) == [done]


def test_a_number_changes_only_where_the_entry_says_so() -> None:
    words = "n=6, 39.0 % of it"
    changed = {"value": 0.2, "text": words.replace("39.0", "38.0"), "other": words.upper(), "n": 2}
    every = differences.compare(
        "case", "one", {"value": 0.1, "text": words, "other": words}, changed
    )
    ours, rest = accepted.listed(every, [entry(path="**", numbers=False)])
    assert [paths.text(each.place) for each in ours] == ["other"]
    assert [paths.text(each.place) for each in rest] == ["n", "text", "value"]
    gone = differences.compare("case", "one", {"a": [{"b": 5}], "c": "x"}, {})
    ours, rest = accepted.listed(gone, [entry(path="**", numbers=False)])
    assert [paths.text(each.place) for each in (*ours, *rest)] == ["c", "a"]
    assert accepted.listed(every, [entry(path="**")])[1] == []


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (None, 0.4, False),
        (ABSENT, {"score": 1.0}, False),
        ("none", "0.4", False),
        ("A 1, B 2", "A 2, B 1", False),
        ([1, 2], [2, 1], False),
        ("\N{MINUS SIGN}5.0 points", "5.0 points", False),
        ("-5.0 points", "5.0 points", False),
        ("-5.0 points", "\N{MINUS SIGN}5.0 points", True),
        ("A 1, B 2", "a: 1; b: 2", True),
        (5, "5", True),
        (ABSENT, "gone", True),
    ],
)
def test_numbers_that_come_swap_or_change_their_sign_are_no_equal_ones(
    old: Json, new: Json, equal: bool
) -> None:
    each = Difference("case", "one", ("value",), old, new)
    assert accepted.accepts(entry(numbers=False), each) is equal
    assert accepted.accepts(entry(), each)


def test_the_example_of_a_stored_entry_is_one_that_it_accepts() -> None:
    for each in accepted.read():
        if accepted.pending(each):
            continue
        sides = [each["example"].get(name, ABSENT) for name in ("old", "new")]
        if any(isinstance(side, str) and side.endswith(" ...") for side in sides):
            continue  # not whole
        where, _, place = each["example"]["at"].partition(": ")
        case, _, scenario = where.partition("/")
        made = Difference(case, scenario, paths.parse(place), *sides)
        assert accepted.accepts(each, made), each


def test_a_settled_entry_excuses_nothing() -> None:
    new = copy(RECORD)
    new["scores"][0]["value"] = 0.2
    done = accepted.settled(entry(), found(new))
    assert done["n_values"] == 1 and done["example"]["old"] == 0.1
    assert accepted.listed(found(new), [done])[0] == []


def test_an_entry_that_matches_nothing_is_reported() -> None:
    stored = {"case": {"one": RECORD}}
    new = copy(RECORD)
    new["text"] = "other"
    assert accepted.stale(found(new), [entry()], stored) == [entry()]
    gone = accepted.settled(entry(path="**.nowhere"), found(new))
    assert accepted.stale([], [gone], stored) == [gone]
    live = accepted.settled(entry(path="text"), found(new))
    assert accepted.stale([], [live], stored) == []
    assert accepted.stale([], [gone], {"another": {}}) == []


def test_only_what_is_accepted_is_taken_over(tmp_path: Path) -> None:
    files.write("case", "one", RECORD, tmp_path)
    new = copy(RECORD)
    new["scores"][0]["value"] = 0.2
    new["text"] = "other"
    del new["summary"]["n"]
    fresh = {"one": new, "two": {"x": 1}}
    every, stored = checking.compare("case", fresh, tmp_path)
    chosen = checking.selected("case/one", every, "**.value")
    checking.take(chosen, {"case": stored}, {"case": fresh}, tmp_path)
    left, _ = checking.compare("case", fresh, tmp_path)
    assert [paths.text(each.place) for each in left] == ["summary.n", "text", "."]
    checking.take(left, {"case": files.read("case", tmp_path)}, {"case": fresh}, tmp_path)
    assert files.read("case", tmp_path) == fresh
    assert checking.compare("case", fresh, tmp_path)[0] == []


def test_a_scenario_that_is_gone_or_new_differs_as_a_whole(tmp_path: Path) -> None:
    files.write("case", "one", RECORD, tmp_path)
    every, stored = checking.compare("case", {"two": 1}, tmp_path)
    assert [(x.scenario, x.old is ABSENT, x.new is ABSENT) for x in every] == [
        ("one", False, True),
        ("two", True, False),
    ]
    checking.take(every, {"case": stored}, {"case": {"two": 1}}, tmp_path)
    assert files.read("case", tmp_path) == {"two": 1}


def test_repeated_differences_are_shown_once() -> None:
    old = {"rows": [{"a": 1, "b": n} for n in range(9)]}
    new = {"rows": [{"a": 2, "b": n} for n in range(9)]}
    lines = list(checking.shown(differences.compare("case", "one", old, new)))
    assert len(lines) == 4
    assert "rows[0].a" in lines[1] and "and 5 more" in lines[1]
    assert (lines[2].strip(), lines[3].strip()) == ("- 1", "+ 2")


# --- the command --------------------------------------------------------------------------


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Give the harness folders of its own with one case, whose value can be set."""
    monkeypatch.setattr(files, "RECORDS", tmp_path / "records")
    for module in (checking.compare, checking.take):
        monkeypatch.setattr(module, "__defaults__", (tmp_path / "records",))
    monkeypatch.setattr(files.read, "__defaults__", (tmp_path / "records",))
    monkeypatch.setattr(accepted.read, "__defaults__", (tmp_path / "accepted.json",))
    monkeypatch.setattr(accepted.write, "__defaults__", (tmp_path / "accepted.json",))
    accepted.write([], tmp_path / "accepted.json")
    monkeypatch.setattr(recording, "names", lambda: ["planted"])
    now = {"value": 0.5}

    def load(name: str) -> recording.Case:
        return recording.Case(name, False, lambda folder: {"one": {"text": "x", **now}})

    monkeypatch.setattr(recording, "load", load)
    monkeypatch.setattr(
        recording, "record_all",
        lambda chosen, workers: [(name, recording.record(load(name))) for name in chosen],
    )  # fmt: skip
    return lambda new: now.update(value=float(new))


def test_the_command_goes_from_a_record_over_a_difference_to_its_acceptance(
    planted: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main([]) == 1  # no record yet
    assert __main__.main(["record"]) == 0
    assert __main__.main([]) == 0
    planted("0.75")
    assert __main__.main([]) == 1
    assert "one: value" in capsys.readouterr().out
    assert __main__.main(["record"]) == 0 and __main__.main([]) == 1  # it changes no record
    assert __main__.main(["accept", "planted"]) == 2  # no reason
    assert __main__.main(["accept", "planted/one", "--reason", "better", "--path", "text"]) == 2
    assert __main__.main(["accept", "planted/one", "--reason", "better"]) == 2
    assert __main__.main(["accept", "planted/one", "--reason", "better", "--numbers"]) == 0
    assert __main__.main([]) == 0
    (done,) = accepted.read()
    assert (done["reason"], done["n_values"]) == ("better", 1)
    planted("0.25")
    assert __main__.main([]) == 1  # what was accepted once excuses nothing later


def test_an_entry_by_hand_lists_a_difference_until_it_is_recorded(
    planted: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    __main__.main(["record"])
    planted("0.75")
    accepted.write([entry(case="planted", path="value")])
    assert __main__.main([]) == 0
    assert "accepted, not yet recorded" in capsys.readouterr().out
    assert __main__.main(["accept"]) == 0
    planted("0.5")
    assert __main__.main([]) == 1


# --- normalising --------------------------------------------------------------------------


def test_what_depends_on_the_machine_becomes_a_word(tmp_path: Path) -> None:
    tidy = Normaliser(tmp_path)
    said = (
        f"{tmp_path}/runs/mini-x-native-1a2b3c4d-2 at http://127.0.0.1:4242/v1 on "
        "2026-01-02T03:04:05+00:00 (own.py, line 12)"
    )
    assert tidy.text(said) == (
        "<folder>/runs/mini-x-native-<hash>-2 at http://127.0.0.1:<port>/v1 on <time> "
        "(own.py, line <n>)"
    )
    trace = "why\nTraceback (most recent call last):\n  File x\n    y\nValueError: no\nafter"
    assert tidy.text(trace) == "why\n<traceback>\nValueError: no\nafter"
    assert tidy.value({"latency_s": 0.3, "wall_s": 0.0, "n": 3}) == {
        "latency_s": "<seconds>", "wall_s": "<seconds>", "n": 3,
    }  # fmt: skip


def test_long_texts_keep_their_ends_length_and_digest() -> None:
    one, two = "a" * 3_000, "a" * 1_500 + "b" + "a" * 1_499
    assert long("short") == "short"
    assert len(long(one)) < 1_600 and long(one) != long(two)


def test_values_that_repeat_are_stored_once() -> None:
    assert once([{"a": 1}, {"b": 2}, {"a": 1}]) == (
        ["#0", "#1", "#0"],
        {"#0": {"a": 1}, "#1": {"b": 2}},
    )


def test_a_record_is_readable_and_comes_back_whole() -> None:
    odd = {"text": "é\u2028\ud800\x85\ufeff", "rows": [[1, 2.5, None]] * 40, "deep": {"a": [{}]}}
    text = files.dumps(odd)
    assert files.loads(text) == odd
    text.encode()  # no lone surrogate
    assert "é" in text and text.count("\n") > 40
    assert max(map(len, text.splitlines())) <= files.WIDTH + 5


def test_records_are_small_enough_to_be_read_and_stored() -> None:
    sizes = [path.stat().st_size for path in files.RECORDS.rglob("*.json")]
    assert max(sizes) < 2_000_000
    assert sum(sizes) < 25_000_000


def test_every_record_belongs_to_a_case() -> None:
    assert {path.name for path in files.RECORDS.iterdir()} <= {*recording.names()}


def test_equal_digests_stay_equal_and_different_ones_different(tmp_path: Path) -> None:
    tidy = Normaliser(tmp_path)
    one, two = "a" * 64, "b" * 64
    assert tidy.value([one, two, f"sha256 {one}"]) == [
        "<sha256 1>", "<sha256 2>", "sha256 <sha256 1>",
    ]  # fmt: skip


# --- mutants ------------------------------------------------------------------------------

SOURCE = '''"""A module."""

LIMIT = 3


def share(part: int, of: int = 1) -> float | None:
    """Return a share."""
    if part > of and of:
        raise ValueError("ü: too much")
    return part / of if of else None
'''


@pytest.fixture
def mutated(tmp_path: Path) -> list[mutation.Mutant]:
    for package in mutation.PACKAGES:
        (tmp_path / package).mkdir()
    (tmp_path / "scoring" / "one.py").write_text(SOURCE, encoding="utf-8")
    return mutation.drawn(tmp_path, 1_000, seed=1)


def test_every_kind_of_change_is_drawn_once(mutated: list[mutation.Mutant]) -> None:
    changes = [(each.line, each.kind, each.new) for each in mutated]
    assert len(changes) == len({*changes})
    assert {
        (3, "constant", "(4)"),
        (8, "comparison", "(part >= of)"),
        (8, "boolean", "(part > of or of)"),
        (8, "branch", "(not (part > of and of))"),
        (9, "removed", "pass"),
        (10, "arithmetic", "(part * of)"),
        (10, "condition", "(part / of if not of else None)"),
        (10, "return", "return None"),
    } <= {*changes}
    assert not [each for each in mutated if "A module" in each.new or "share" in each.new]


def test_a_mutant_changes_its_place_and_can_be_compiled(mutated: list[mutation.Mutant]) -> None:
    for each in mutated:
        changed = each.applied(SOURCE)
        compile(changed, "one.py", "exec")
        assert changed != SOURCE
    text = next(each for each in mutated if each.line == 9 and each.kind == "constant")
    assert text.applied(SOURCE) == SOURCE.replace('"ü: too much"', "('ü: too muchx')")


@pytest.mark.long
def test_the_same_seed_draws_the_same_mutants(tmp_path: Path) -> None:
    root = Path(mutation.__file__).parents[2] / "src" / "toolmark"
    assert mutation.drawn(root, 5, 1) == mutation.drawn(root, 5, 1) != mutation.drawn(root, 5, 2)
