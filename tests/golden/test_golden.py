"""What toolmark does is what was recorded, but for what was accepted."""

from __future__ import annotations

import sys

import pytest
from _pytest.mark import ParameterSet
from tests.golden import accepted, checking, files, paths, recording
from tests.golden.differences import ABSENT

pinned = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="the pinned grammars are made for Python below 3.13"
)


def _marked(name: str) -> ParameterSet:
    case = recording.load(name)
    marks = [mark for mark, wanted in ((pytest.mark.long, case.long), (pinned, case.grammars))
             if wanted]  # fmt: skip
    return pytest.param(name, marks=marks + [getattr(pytest.mark, own) for own in case.markers])


CASES = [_marked(name) for name in recording.names()]


@pytest.mark.timeout(1_800)  # a busy machine is no difference
@pytest.mark.parametrize("name", CASES)
def test_nothing_differs_that_is_not_accepted(name: str) -> None:
    fresh = recording.record(recording.load(name))
    found, _ = checking.compare(name, fresh)
    _, rest = accepted.listed(found, accepted.read())
    assert not rest, "\n".join(["make golden shows all of it", *checking.shown(rest)])


@pytest.mark.parametrize(
    "entry",
    accepted.recorded(accepted.read()),  # a pending entry has no example yet
    ids=lambda entry: entry["example"]["at"][:80],
)
def test_what_was_accepted_stands_in_the_records(entry: accepted.Entry) -> None:
    where, _, place = entry["example"]["at"].partition(": ")
    case, _, scenario = where.partition("/")
    record = files.read_one(case, scenario)
    try:
        stands = accepted.short(paths.get(record, paths.parse(place)))
    except (IndexError, KeyError):
        stands = ABSENT
    if "new" in entry["example"]:
        assert stands == entry["example"]["new"]
    else:
        assert stands != entry["example"]["old"]
