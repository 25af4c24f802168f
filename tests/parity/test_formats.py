"""Prompts in every format: the official composition and ours, byte for byte."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.parity.process import Ask

import toolmark as tm
from toolmark.core import json_codec
from toolmark.formats.prompt_format import PromptVariant, tool_document
from toolmark.formats.render.tool_docs import ToolDocForm, render_docs
from toolmark.official_bfcl import official_data, prompt_formats

DOCS: tuple[ToolDocForm, ...] = ("python", "xml", "json")


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def test_every_variant_of_every_entry_is_asked_in_the_official_words(official_formats: Ask) -> None:
    bfcl = tm.load("bfcl", category=("format_sensitivity",))
    names, theirs = official_formats([("configs",), ("prompts",)])
    assert list(prompt_formats.official_format_names()) == names
    mine = []
    for task in bfcl:
        messages, offered = bfcl.tool_formats[task.tool_format].render_opening(
            task.turns[0].messages, task.tools
        )
        assert offered == ()
        said = [
            {"role": message.role, "content": json_codec.restore_surrogates(message.text)}
            for message in messages
        ]
        mine.append([task.id, digest(said)])
    print(f"\n{len(mine)} prompts compared")
    assert len(mine) == 5200
    assert mine == theirs


def test_docs_of_every_single_turn_entry_are_written_as_officially(official_formats: Ask) -> None:
    theirs = official_formats(
        [("docs", category, form) for category in official_data.CATEGORIES for form in DOCS]
    )
    n = 0
    for index, category in enumerate(official_data.CATEGORIES):
        tasks, _ = official_data.read_tasks(official_data.fetch_wheel(), (category,))
        published = [
            task.data["docs"]
            if "docs" in (task.data or {})
            else [
                {**tool_document(tool), "description": tool.source["description"]}
                for tool in task.tools
            ]
            for task in tasks
        ]
        for form, texts in zip(DOCS, theirs[3 * index : 3 * index + 3], strict=True):
            assert [render_docs(docs, form) for docs in published] == texts, (category, form)
            n += len(texts)
    print(f"\n{n} docs compared")
    assert n == 3 * 3641


def test_every_format_has_the_published_form_of_name() -> None:
    assert len(prompt_formats.all_variants()) == 96
    assert all(
        prompt_formats.format_name(form) == name
        for name, form in prompt_formats.all_variants().items()
    )
    assert prompt_formats.format_name(PromptVariant()) == prompt_formats.official_format_names()[5]
