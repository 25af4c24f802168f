"""Foreign text can only ever be text."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import svg


@given(st.text())
def test_any_text_is_well_formed_and_stays_text(text: str) -> None:
    drawn = svg.svg_element(10, 5.5, svg.element("text", text, x=1, class_=text), label=text)
    root = ElementTree.fromstring(drawn)
    assert [child.tag.rpartition("}")[2] for child in root.iter()] == ["svg", "text"]
    assert "<" not in svg.escape_text(text)


def test_markup_is_not_escaped_twice_and_other_text_is() -> None:
    inner = svg.element("b", "a < b")
    assert svg.element("g", inner, "<b>") == "<g><b>a &lt; b</b>&lt;b&gt;</g>"


def test_names_and_numbers_of_attributes() -> None:
    drawn = svg.element("rect", stroke_width=1.5, class_="x", rx=2.0, y=None, x=1 / 3)
    assert drawn == '<rect stroke-width="1.5" class="x" rx="2" x="0.33"/>'
