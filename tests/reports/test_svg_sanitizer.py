"""Drawings of run folders: shapes and text pass, whatever could load, run, reach or cover not."""

from __future__ import annotations

import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.suites.mfcl_vision import vision_run
from tests.suites.multinet import made_tasks

from toolmark.core import svg
from toolmark.core.records import Chart, Drawing, Series
from toolmark.reports import charts, embedded_recordings, svg_sanitizer
from toolmark.reports.svg_sanitizer import sanitize_svg
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import StoredViews

SVG = "{http://www.w3.org/2000/svg}"
HEAD = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" width="10" height="10"'
CSS = "<svg {}><style>{}</style><rect x='1' y='1' width='3' height='3'/></svg>"


def drawing(inner: str = "", more: str = "") -> str:
    return f"<svg {HEAD} {more}>{inner}<circle cx='5' cy='5' r='2'/></svg>"


INNER = {
    "script": "<script>alert(1)</script>",
    "script with an address": '<script href="https://evil.example/x.js"/>',
    "another namespace": '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
    "foreignObject": '<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" '
    'src="https://evil.example"/></foreignObject>',
    "html": '<img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="alert(1)"/>',
    "link": '<a href="javascript:alert(1)"><text>click</text></a>',
    "old link": '<a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="javascript:alert(1)"/>',
    "image": '<image href="https://evil.example/pixel.png" width="1" height="1"/>',
    "use": '<use href="https://evil.example/sprite.svg#x"/>',
    "animation": '<animate attributeName="href" to="javascript:alert(1)"/>',
    "set": '<set attributeName="onload" to="alert(1)"/>',
    "handler": '<handler type="text/javascript">alert(1)</handler>',
    "filter": '<filter id="f"><feImage href="https://evil.example/x.png"/></filter>',
    "onload": '<rect onload="alert(1)" width="3"/>',
    "onclick": '<g onclick="alert(1)"><text>text</text></g>',
    "fill with an address": '<rect fill="url(https://evil.example/p.svg#x)"/>',
    "fill with an escape": '<rect fill="u\\72l(https://evil.example/p.svg#x)"/>',
    "style with an address": '<rect style="fill:url(https://evil.example/p.svg#x)"/>',
    "style that covers": '<rect style="position:fixed;inset:0"/>',
    "id": '<g id="e0"/>',
    "base": '<g xml:base="https://evil.example/"/>',
    "nested root": f"<svg {HEAD}><script>alert(1)</script></svg>",
    "element in a style": "<style><script>alert(1)</script></style>",
}
RULES = {
    "import": "@import url(https://evil.example/x.css);",
    "import in a rule": "@import 'https://evil.example/x.css'; rect{fill:red}",
    "font": "@font-face{font-family:x;src:url(https://evil.example/x.woff)}",
    "address": "rect{fill:url(https://evil.example/x)}",
    "escaped address": "rect{fill:u\\72 l(https://evil.example/x)}",
    "image set": "rect{fill:image-set('https://evil.example/x' 1x)}",
    "host": ":host{position:fixed;inset:0;z-index:9999;opacity:.01}",
    "host in a list": "rect,:host{opacity:0}",
    "fixed": "rect{position:fixed;inset:0}",
    "end of the style": "</style><script>alert(1)</script><style>",
    "comment": "/*</style>*/rect{background:url(//evil.example)}",
    "media": "@media screen{rect{fill:url(//evil.example)}}",
}
EVIL = ("script", "evil.example", "javascript", "onload", "onclick", "onerror", "foreignObject",
        "iframe", "url", "position", "inset", ":host", "@", "href", "xlink", "image", " id=",
        "animate", "\\", "xml:base")  # fmt: skip


def assert_harmless(made: str) -> None:
    assert not [word for word in EVIL if word.lower() in made.lower()], made
    if made:
        ElementTree.fromstring(made)


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_what_could_run_or_load_is_left_out_and_the_rest_stays(inner: str) -> None:
    made = sanitize_svg(drawing(inner))
    assert_harmless(made)
    shapes = [dict(each.attrib) for each in ElementTree.fromstring(made).iter(f"{SVG}circle")]
    assert {"cx": "5", "cy": "5", "r": "2"} in shapes


@pytest.mark.parametrize("css", RULES.values(), ids=RULES)
def test_rules_that_load_reach_or_cover_are_left_out(css: str) -> None:
    assert_harmless(sanitize_svg(CSS.format(HEAD, css.replace("<", "&lt;"))))
    assert_harmless(sanitize_svg(CSS.format(HEAD, css)))


@pytest.mark.parametrize("more", ['onload="alert(1)"', 'class="modal"', 'style="position:fixed"'])
def test_the_root_keeps_its_size_alone(more: str) -> None:
    made = sanitize_svg(drawing(more=more))
    assert_harmless(made)
    assert made.startswith(f"<svg {HEAD}>")


BOMB = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "lol"}">' for n in range(12))


@pytest.mark.parametrize("foreign", [
    "", "no svg", "<p>text</p>", "<svg/>", "<svg", drawing()[:-8], "\x00" + drawing(),
    f"<!DOCTYPE svg [{BOMB}]>{drawing('<text>&a11;</text>')}",
    f'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>{drawing("<text>&x;</text>")}',
    f'<!DOCTYPE svg SYSTEM "https://evil.example/x.dtd">{drawing()}',
    drawing().replace('viewBox="0 0 10 10"', 'viewBox="0 0 1 100000"'),
    drawing().replace('height="10"', 'height="1e9"'),
    drawing().replace('height="10"', 'height="100%"'),
    drawing("<g>" * 100_000 + "</g>" * 100_000),
    drawing("<text>" + "x" * svg_sanitizer.MAX_CHARACTERS + "</text>"),
], ids=range(15))  # fmt: skip
def test_what_is_no_plain_drawing_is_not_shown(foreign: str) -> None:
    assert sanitize_svg(foreign) == ""


def test_text_is_escaped_and_deep_foreign_trees_are_passed_over() -> None:
    made = sanitize_svg(drawing("<text>&lt;script&gt;&amp;</text>" + "<a>" * 20 + "</a>" * 20))
    (text,) = ElementTree.fromstring(made).iter(f"{SVG}text")
    assert text.text == "<script>&" and not list(ElementTree.fromstring(made).iter(f"{SVG}a"))


@pytest.mark.parametrize("piece", ["<rect fill='{}'/>", "<style>{}</style>", "<text>{}</text>"])
def test_time_grows_as_the_drawing_does(piece: str) -> None:
    def took(n: int) -> float:
        text = drawing(piece.format("a(:;{}," * n))
        best = []
        for _ in range(3):
            start = time.process_time()
            sanitize_svg(text)
            best.append(time.process_time() - start)
        return min(best)

    assert took(64_000) <= 64 * max(took(4_000), 1e-3)


def shape(drawn: str) -> list[tuple[str, dict[str, str], str, str]]:
    """Return all that a drawing holds, element by element."""
    return [
        (each.tag, dict(each.attrib), each.text or "", each.tail or "")
        for each in ElementTree.fromstring(drawn).iter()
    ]


def drawn(run: Run) -> list[str]:
    views = StoredViews(run)
    found = [views[each.task, each.repeat] for each in run.trajectories()]
    return [view.svg for each in found for view in each if isinstance(view, Drawing) and view.svg]


@pytest.mark.parametrize("family", ["openx", "odds", "overcooked"])
def test_the_drawings_of_multinet_pass_whole(family: str, tmp_path: Path) -> None:
    found = drawn(made_tasks.make(tmp_path, family, 8))
    assert found
    for each in found:
        assert sanitize_svg(each) == each


def test_the_drawings_of_vision_pass_whole(tmp_path: Path) -> None:
    found = drawn(vision_run.run(tmp_path, n=4))
    assert found
    for each in found:
        assert sanitize_svg(each) == each


def test_what_toolmark_draws_passes_whole() -> None:
    series = Series(name="<b>", x=(0.0, 1.0), y=(0.2, 0.4), low=(0.1, 0.3), high=(0.3, 0.5))
    line = Chart(title="A & B", kind="line", series=(series, series))
    assert shape(sanitize_svg(charts.draw_chart(line))) == shape(charts.draw_chart(line))
    own = svg.svg_element(
        10, 10, svg.element("text", "<&>'\"", x=1, y=2), label="x", css="text{fill:red}"
    )
    assert shape(sanitize_svg(own)) == shape(own)
    assert (
        shape(sanitize_svg(CSS.format(HEAD, embedded_recordings._CSS)))[1][2]
        == embedded_recordings._CSS
    )
