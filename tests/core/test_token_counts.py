"""Sums of token counts contain every count."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.records import Usage
from toolmark.core.token_counts import sum_usage

COUNTS = [name for name in Usage.__struct_fields__ if name != "cost"]
COST = st.none() | st.integers(0, 100).map(float)
usages = st.builds(Usage, cost=COST, **dict.fromkeys(COUNTS, st.integers(0, 10**6)))


@given(st.lists(usages, max_size=5))
def test_each_count_is_summed(found: list[Usage]) -> None:
    total = msgspec.structs.asdict(sum_usage(found))
    cost = total.pop("cost")
    assert total == {name: sum(getattr(u, name) for u in found) for name in total}
    costs = [u.cost for u in found if u.cost is not None or u.input or u.output]
    is_known = bool(costs) and None not in costs
    assert cost == (sum(u.cost or 0.0 for u in found) if is_known else None)
