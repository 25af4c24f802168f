"""The filters of a page, as its script applies them to the list of episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def is_among(word: str, wanted: str | list[str]) -> bool:
    return word in wanted if isinstance(wanted, list) else wanted in ("", word)


def is_listed(episode: Mapping[str, Any], wanted: Mapping[str, Any], rules: Sequence[str]) -> bool:
    """Apply the filters of a link as the page's script does."""
    rule = wanted.get("rule", rules[0])
    if rule not in episode["outcome"]:
        return False
    outcome = episode["outcome"][rule].replace(" ", "_")
    if wanted.get("outcome", "") == "run":
        if outcome == "not_run":
            return False
    elif wanted.get("outcome", outcome) != outcome:
        return False
    cause = episode["cause"].get(rule, [])
    words = json.loads(wanted.get("cause", "[]"))
    if not all(not word or cause[i : i + 1] == [word] for i, word in enumerate(words)):
        return False
    traits = episode.get("traits", {}).get(rule, {})
    named = wanted.get("find", "").removeprefix("id:")
    return (
        is_among(episode["category"], wanted.get("category", ""))
        and all(is_among(episode["axes"].get(k, ""), x) for k, x in wanted.get("axes", {}).items())
        and all(is_among(traits.get(k, ""), x) for k, x in wanted.get("traits", {}).items())
        and named in ("", episode["id"], episode.get("item", ""))
    )
