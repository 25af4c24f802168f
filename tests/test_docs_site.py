"""The pages of the documentation: each is in the navigation, and no link leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import generated_pages
import toolmark
from toolmark.cli import app
from toolmark.suites import suite_registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
LINKED = [*sorted(ROOT.glob("*.md")), *PAGES]
SECTIONS = {"tutorial", "how-to", "reference", "suites", "explanation"}


def without_code(text: str) -> str:
    """Return a page without its blocks and words of code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def toctree_entries(page: Path) -> Iterator[Path]:
    """Yield the pages that the navigation of a page names."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.M | re.S):
        for line in block.splitlines():
            if line.strip() and not line.startswith(":"):
                yield (page.parent / f"{line.strip()}.md").resolve()


def heading_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as the site and code hosts make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    anchors: set[str] = set()
    for title in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 1
        numbered = anchor
        while numbered in anchors:
            numbered, number = f"{anchor}-{number}", number + 1
        anchors.add(numbered)
    return anchors


def dead_links(page: Path) -> Iterator[str]:
    """Yield the relative links of a page that lead to no file or no heading."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        place, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", place):
            continue
        file = (page.parent / place).resolve() if place else page
        if not file.exists() or (anchor and anchor not in heading_anchors(file)):
            yield target


def test_every_page_is_in_the_navigation_once() -> None:
    entries = [entry for page in PAGES for entry in toctree_entries(page)]
    assert sorted(entries) == sorted({*PAGES} - {DOCS / "index.md"})


def test_every_page_is_in_one_section() -> None:
    places = {page.relative_to(DOCS).parts for page in PAGES} - {("index.md",)}
    assert {parts[0] for parts in places} == SECTIONS
    assert {len(parts) for parts in places} == {2}


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in LINKED])
def test_no_relative_link_is_dead(page: str) -> None:
    assert list(dead_links(ROOT / page)) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "# One fact\n\n[a](b.md) [b](#one-fact) [c](#two) [d](a.md#one-fact) `[e](f.md)`"
    )
    assert list(dead_links(page)) == ["b.md", "#two"]


def test_every_generated_part_stands_in_one_page() -> None:
    marks = [name for page in PAGES for name in generated_pages.MARK.findall(page.read_text())]
    assert sorted(marks) == sorted(generated_pages.GENERATORS)


def test_the_command_reference_has_every_command_and_flag() -> None:
    text = generated_pages.command_reference()
    group = typer.main.get_command(app.app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert f"## toolmark {name}\n" in text
        flags = [flag for param in command.params for flag in param.opts if flag.startswith("-")]
        assert [flag for flag in flags if flag not in text] == []


def test_the_suite_reference_has_every_suite_and_parameter() -> None:
    sections = generated_pages.suite_reference().split("## ")
    by_name = {section.partition("\n")[0]: section for section in sections if section}
    assert by_name.keys() == suite_registry.SUITES.keys()
    for name, section in by_name.items():
        parameters = [each.name for each in suite_registry.list_parameters(name)]
        assert [each for each in parameters if f"| `{each}` |" not in section] == []


def test_the_python_reference_has_every_public_name() -> None:
    parts = (
        "public names", "run folder", "settings", "suite parts", "extension points", "records",
        "errors",
    )  # fmt: skip
    text = "".join(generated_pages.GENERATORS[name]() for name in parts)
    assert [name for name in toolmark.__all__ if not re.search(rf"\.{name}\n", text)] == []
