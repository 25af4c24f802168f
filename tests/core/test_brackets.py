"""Cutting at the commas outside brackets and quotes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.core import brackets

QUOTES = "\"'"
parts = st.recursive(
    st.sampled_from(["a", " ", "", "'x,y'", '"(\\","', "new A<B, C>()", "a < b"]),
    lambda part: st.tuples(st.sampled_from(["()", "[]", "{}"]), st.lists(part, max_size=3)).map(
        lambda made: made[0][0] + ",".join(made[1]) + made[0][1]
    ),
    max_leaves=6,
)


@example(["a < b", "new A<B, C>()"], "()", "")
@given(st.lists(parts, min_size=1, max_size=4), st.sampled_from(["()", "[]", "{}"]), st.text())
def test_pieces_are_what_the_commas_part(pieces: list[str], pair: str, rest: str) -> None:
    text = f"f{pair[0]}{','.join(pieces)}{pair[1]}"
    assert brackets.split_at_commas(text + rest, 2, QUOTES) == (pieces, len(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(a, b", "a bracket is not closed"),
        ("(a, (b)", "a bracket is not closed"),
        ("(a]", "do not match"),
        ("(a, 'b)", "a quote is not closed"),
        ("(a, 'b\\')", "a quote is not closed"),
        ("(a, 'b\\", "a quote is not closed"),
    ],
)
def test_what_does_not_close_is_unbalanced(text: str, why: str) -> None:
    with pytest.raises(brackets.UnbalancedBrackets, match=why):
        brackets.split_at_commas(text, 1, QUOTES)


def test_only_the_quotes_that_are_named_are_quotes() -> None:
    assert brackets.split_at_commas("(`a,b`)", 1, QUOTES) == (["`a", "b`"], 7)
    assert brackets.split_at_commas("(`a,b`)", 1, "`") == (["`a,b`"], 7)
