"""Sums of token counts contain every count."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.records import Usage
from toolmark.core.token_counts import sum_usage

usages = st.builds(Usage, **dict.fromkeys(Usage.__struct_fields__, st.integers(0, 10**6)))


@given(st.lists(usages, max_size=5))
def test_each_count_is_summed(found: list[Usage]) -> None:
    total = msgspec.structs.asdict(sum_usage(found))
    assert total == {name: sum(getattr(u, name) for u in found) for name in total}
