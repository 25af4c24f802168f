"""Memories keep what they are told within their limits, and hand it on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.records import Call, Message, Text
from toolmark.environments import vector_memory
from toolmark.environments.memory_environment import (
    MEMORY_PLACEHOLDER,
    KeyValueMemory,
    MemoryEnvironment,
    MemoryStore,
    Summary,
    rank_by_words,
)


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode by counting letters."""
    rows = [[1e-3 + text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]
    made = np.array(rows, dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


MAKERS: tuple[Callable[[Any], MemoryStore], ...] = (
    lambda state: KeyValueMemory(rank_by_words, state),
    lambda state: vector_memory.VectorMemory(letters, state),
    Summary,
)


async def say(memory: MemoryEnvironment, name: str, **given: Any) -> str:
    return (await memory.call(Call(name=name, arguments=json.dumps(given)))).text


def played(store: MemoryStore, *calls: tuple[str, Mapping[str, Any]]) -> list[Any]:
    async def play() -> list[Any]:
        memory = MemoryEnvironment((), store)
        return [json.loads(await say(memory, name, **given)) for name, given in calls]

    return asyncio.run(play())


def test_a_search_of_keys_finds_the_nearest_first() -> None:
    keys = ("home_city", "name", "work_city_now")
    adds = [("core_memory_add", {"key": key, "value": "x"}) for key in keys]
    *_, found = played(
        KeyValueMemory(rank_by_words), *adds, ("core_memory_key_search", {"query": "home"})
    )
    assert found["ranked_results"][0][1] == "home_city"


def test_a_search_by_meaning_finds_the_nearest_first() -> None:
    adds = [("archival_memory_add", {"text": text}) for text in ("zzz", "seattle", "banana")]
    query = ("archival_memory_retrieve", {"query": "settle", "top_k": 2})
    *_, found = played(vector_memory.VectorMemory(letters), *adds, query)
    assert [hit["id"] for hit in found["result"]] == [1, 2]
    assert found["result"][0]["similarity_score"] > 0.9


def test_shelves_are_full_at_their_limits() -> None:
    core = [("core_memory_add", {"key": f"k_{i}", "value": "x"}) for i in range(8)]
    assert ["error" in said for said in played(KeyValueMemory(rank_by_words), *core)] == [
        False
    ] * 7 + [True]
    piles = [("archival_memory_add", {"text": "x"})] * 51
    said = played(vector_memory.VectorMemory(letters), *piles)
    assert ["error" in each for each in said] == [False] * 50 + [True]


def test_ids_are_never_given_twice_until_all_is_cleared() -> None:
    said = played(
        vector_memory.VectorMemory(letters),
        ("core_memory_add", {"text": "a"}),
        ("core_memory_remove", {"vec_id": 0}),
        ("core_memory_add", {"text": "b"}),
        ("core_memory_clear", {}),
        ("core_memory_add", {"text": "c"}),
    )
    assert [each.get("id") for each in said] == [0, None, 1, None, 0]


@given(st.lists(st.text(max_size=40), max_size=5))
def test_a_state_handed_on_is_the_same_memory(texts: list[str]) -> None:
    for make in MAKERS:
        store = make(None)
        for i, text in enumerate(texts):
            if "memory_append" in store.tools():
                store.tools()["memory_append"](text=text)
            elif isinstance(store, KeyValueMemory):
                store.core.add(key=f"k_{i}", value=text)
            else:
                store.tools()["core_memory_add"](text=text)
        again = make(json.loads(json_codec.encode_record(json_codec.to_plain_json(store.state()))))
        assert again.state() == store.state()
        assert again.prompt_text() == store.prompt_text()


def test_a_state_of_another_shape_is_a_data_error() -> None:
    for make in MAKERS:
        with pytest.raises(DataError, match="handed on"):
            make({"core_memory": 5, "archival_memory": [], "memory": []})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no_such_tool", "{}"),
        ("core_memory_add", "{"),
        ("core_memory_add", "[1]"),
        ("core_memory_add", "{}"),
        ("core_memory_add", '{"key": "a", "value": "b", "more": 1}'),
        ("core_memory_key_search", '{"query": "a"}'),
        ("core_memory_retrieve", '{"key": ["a"]}'),
        ("__init__", "{}"),
        ("state", "{}"),
        ("core_memory_add", "[" * 100_000),
        ("\ufdd0d800", "{}"),
    ],
)
def test_a_wrong_call_is_an_error_the_model_sees(name: str, arguments: str) -> None:
    memory = MemoryEnvironment((), KeyValueMemory(rank_by_words))
    result = asyncio.run(memory.call(Call(name=name, arguments=arguments)))
    assert result.is_error and result.text.startswith("Error during execution")
    json_codec.encode_record(result)
    assert memory.store.state() == KeyValueMemory(rank_by_words).state()


def test_lone_surrogates_can_be_stored_shown_and_handed_on() -> None:
    async def play() -> tuple[bytes, str]:
        memory = MemoryEnvironment((), Summary())
        await memory.call(Call(name="memory_append", arguments='{"text": "a\\ud800b"}'))
        opening = await memory.opening((Message(role="system", parts=(Text(MEMORY_PLACEHOLDER),)),))
        return json_codec.encode_record(await memory.final_state()), opening[0].text

    state, shown = asyncio.run(play())
    assert json.loads(state) == {"memory": json_codec.escape_surrogates("a\ud800b")}
    assert shown == json_codec.escape_surrogates("a\ud800b")


def test_what_is_remembered_is_shown_in_its_place_only_once() -> None:
    async def play(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return await MemoryEnvironment(
            (), Summary({"memory": f"I like {MEMORY_PLACEHOLDER}"})
        ).opening(messages)

    system = Message(
        role="system", parts=(Text(f"You know: {MEMORY_PLACEHOLDER}. {MEMORY_PLACEHOLDER}"),)
    )
    user = Message(role="user", parts=(Text(MEMORY_PLACEHOLDER),))
    opened = asyncio.run(play((system, user)))
    assert opened[0].text == f"You know: I like {MEMORY_PLACEHOLDER}. {MEMORY_PLACEHOLDER}"
    assert opened[1] == user
    assert asyncio.run(play((user,))) == (user,)


def test_no_replacement_can_fill_the_machine() -> None:
    grow = ("memory_replace", {"old_text": "a", "new_text": "a" * 9000})
    said = played(Summary({"memory": "a" * 10_000}), grow)
    assert "error" in said[0]
