"""Times of the family `clock`: right on every day of the year."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.suites.m3.local.made_items import make_item

from toolmark.suites.m3.local.families import clock_tasks
from toolmark.suites.m3.local.task_item import Template


def converted(day: datetime, given: dict[str, str]) -> datetime:
    hour, minute = map(int, given["time"].split(":"))
    there = day.replace(hour=hour, minute=minute, tzinfo=ZoneInfo(given["source_timezone"]))
    return there.astimezone(ZoneInfo(given["target_timezone"]))


@pytest.mark.parametrize("template", clock_tasks.TEMPLATES)
@pytest.mark.parametrize("seed", range(6))
def test_times_do_not_depend_on_the_day(template: Template, seed: int) -> None:
    item = make_item(template, seed)
    asked = [dict(given) for name, given in item.steps[1] if name == "time/convert_time"]
    days = [datetime(2026, 1, 1) + timedelta(days=30 * n) for n in range(13)]
    for given in asked:
        times = {f"{converted(day, given):%H:%M}" for day in days}
        assert len(times) == 1
        assert all(converted(day, given).date() == day.date() for day in days)


@pytest.mark.parametrize("seed", range(40))
def test_a_flight_takes_what_the_clocks_say(seed: int) -> None:
    item = make_item(clock_tasks.flight_item, seed)
    depart, land = (dict(given) for _, given in item.steps[1])
    start = converted(datetime(2026, 1, 5), depart)
    hour, minute = map(int, land["time"].split(":"))
    air = start.replace(hour=hour, minute=minute) - start
    assert item.answer_parts == (str(air).removesuffix(":00"),)
