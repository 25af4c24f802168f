"""Whenever a run is ended, nothing that is stored is asked again, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runs.interrupted_runs import SUITES, Counting, Series, Zygote, counting

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    found = Zygote()
    yield found
    found.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Counting]:
    with counting() as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize("suite", SUITES)
def test_a_run_that_is_ended_at_any_instant_is_completed_as_if_it_had_not(
    suite: str, tmp_path: Path, zygote: Zygote, server: Counting
) -> None:
    tally = Series(suite, tmp_path, zygote, server).signals(4, 2, random.Random(suite))
    assert tally.n_signals >= 4 and tally.n_after >= 2


@pytest.mark.long
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("suite", SUITES)
def test_a_hundred_signals_for_each_suite(
    suite: str, tmp_path: Path, zygote: Zygote, server: Counting
) -> None:
    tally = Series(suite, tmp_path, zygote, server).signals(100, 20, random.Random(f"{suite}, all"))
    print(f"\n{suite}: {tally}")
    assert tally.n_signals >= 100 and tally.n_after >= 20
