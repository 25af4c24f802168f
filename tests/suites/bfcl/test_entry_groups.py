from __future__ import annotations

from collections import defaultdict

import pytest

import toolmark as tm
from toolmark.official_bfcl.entry_groups import entry_group

MULTI_TURN = ("base", "miss_func", "miss_param", "long_context")


@pytest.fixture(scope="module")
def groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for task in tm.load("bfcl", category="all_scoring").tasks:
        if task.kind == "scored":
            found[task.category].append(entry_group(task))
    return found


def test_the_multi_turn_categories_ask_the_same_200_scenarios(groups: dict[str, list[str]]) -> None:
    sets = [set(groups[f"multi_turn_{name}"]) for name in MULTI_TURN]
    assert all(each == sets[0] for each in sets) and len(sets[0]) == 200


def test_the_memory_categories_share_five_conversations_and_web_search_its_questions(
    groups: dict[str, list[str]],
) -> None:
    memory = [set(groups[f"memory_{name}"]) for name in ("kv", "vector", "rec_sum")]
    assert memory[0] == memory[1] == memory[2] and len(memory[0]) == 5
    web = [set(groups[f"web_search_{name}"]) for name in ("base", "no_snippet")]
    assert web[0] == web[1] and len(web[0]) == 100


def test_entries_with_the_same_tools_are_one_group_in_any_category_and_format(
    groups: dict[str, list[str]],
) -> None:
    assert len(set(groups["live_multiple"])) < len(groups["live_multiple"]) / 3
    assert set(groups["live_multiple"]) & set(groups["live_irrelevance"])
    by_item: dict[str, str] = {}
    for task in tm.load("bfcl", category=("simple_python", "format_sensitivity")).tasks:
        assert by_item.setdefault(task.item, entry_group(task)) == entry_group(task)
