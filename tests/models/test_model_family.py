from __future__ import annotations

import pytest

from toolmark.models.model_family import model_family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-5-mini", "openai"),
        ("openrouter/openai/gpt-5-mini", "openai"),
        ("http://localhost:8000/v1#gpt-5-mini", "openai"),
        ("openai/o3-mini", "openai"),
        ("openai/o30", ""),
        ("judges/my.py:Judge", ""),
        ("anthropic/claude-opus-4", "anthropic"),
        ("together/meta-llama/Llama-3.3-70B-Instruct", "meta"),
        ("http://h/v1#Qwen3-8B", "qwen"),
        ("http://h/v1#qwen2.5-72b", "qwen"),
        ("http://h/v1#phi-4", "microsoft"),
        ("http://h/v1#phoenix-7b", "phoenix"),
        ("http://h/v1#house-70b", "house"),
        ("http://h/v1#7b", ""),
        ("control/oracle", ""),
        ("baseline/planner", ""),
        ("my_models:Judge", ""),
        ("my_models.judge", ""),
        ("", ""),
    ],
)
def test_the_family_follows_from_the_name(name: str, family: str) -> None:
    assert model_family(name) == family
