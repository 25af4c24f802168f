"""Prompts in every format: the official composition and ours, byte for byte."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.parity.process import Ask

from toolmark import codec
from toolmark.dialects.prompt import Format, doc
from toolmark.dialects.render.docs import DocFormat, render
from toolmark.suites.bfcl import data, formats, suite

DOCS: tuple[DocFormat, ...] = ("python", "xml", "json")


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def test_every_variant_of_every_entry_is_asked_in_the_official_words(official_formats: Ask) -> None:
    bfcl = suite.load(category=("format_sensitivity",))
    names, theirs = official_formats([("configs",), ("prompts",)])
    assert list(formats.official()) == names
    mine = []
    for task in bfcl:
        messages, offered = bfcl.dialects[task.dialect].open(task.turns[0].messages, task.tools)
        assert offered == ()
        said = [
            {"role": message.role, "content": codec.restore(message.text)} for message in messages
        ]
        mine.append([task.id, digest(said)])
    print(f"\n{len(mine)} prompts compared")
    assert len(mine) == 5200
    assert mine == theirs


def test_docs_of_every_single_turn_entry_are_written_as_officially(official_formats: Ask) -> None:
    theirs = official_formats(
        [("docs", category, form) for category in data.CATEGORIES for form in DOCS]
    )
    n = 0
    for index, category in enumerate(data.CATEGORIES):
        tasks, _ = data.read(data.fetch(), (category,))
        published = [
            task.reference["docs"]
            if "docs" in (task.reference or {})
            else [{**doc(tool), "description": tool.source["description"]} for tool in task.tools]
            for task in tasks
        ]
        for form, texts in zip(DOCS, theirs[3 * index : 3 * index + 3], strict=True):
            assert [render(docs, form) for docs in published] == texts, (category, form)
            n += len(texts)
    print(f"\n{n} docs compared")
    assert n == 3 * 3641


def test_every_format_has_the_published_form_of_name() -> None:
    assert len(formats.every()) == 96
    assert all(formats.spell(form) == name for name, form in formats.every().items())
    assert formats.spell(Format()) == formats.official()[5]
