"""The settings of a request on the Anthropic Messages wire: limit, thinking, effort, caching."""

from __future__ import annotations

from typing import Any, NamedTuple

from toolmark.core.errors import UsageError
from toolmark.core.records import Adaptation, Sampling
from toolmark.models import claude_models
from toolmark.models.wires import request_parts
from toolmark.models.wires.request_parts import encode_json
from toolmark.models.wires.wire import EncoderSettings

Json = dict[str, Any]

THINKING_DISPLAY = "thinking_display"
BLOCK_BINDING = "block_binding"
OPTIONAL_SETTINGS = frozenset((THINKING_DISPLAY, BLOCK_BINDING))
"""What is asked of models that think, and left out where an endpoint refuses it."""
CACHE_MARK: Json = {"type": "ephemeral"}
_OFF_EFFORTS = ("none", "off")
_ADAPTIVE_EFFORT = {"minimal": "low"}  # the nearest one that exists
_MIN_BUDGET = 1024
_MIN_ANSWER_TOKENS = 1024  # of a limit that are left after thinking
_ONE_CALL = "disable_parallel_tool_use"
_OBJECTS = ("thinking", "output_config")
_THINKING_MODES = ("adaptive", "enabled")


class EncodedSettings(NamedTuple):
    """The end of a body, what of the settings was changed, and headers of its own.

    `own_max_tokens` is the limit where the user set none, else 0.
    """

    tail: bytes
    adaptations: tuple[Adaptation, ...]
    headers: tuple[tuple[str, str], ...]
    own_max_tokens: int = 0


class SettingsEncoder:
    """Encodes the settings for one model; the last ones are cached."""

    def __init__(self, settings: EncoderSettings) -> None:
        self._settings = settings
        self._profile = settings.profile
        self._model = claude_models.model_by_name(settings.model)
        self._last_sampling: Sampling | None = None
        self._encoded: dict[tuple[bool, bool], EncodedSettings] = {}

    def encode(
        self, sampling: Sampling, *, is_continued: bool, has_new_prefix: bool
    ) -> EncodedSettings:
        """Encode the settings and close the body.

        `is_continued`: the conversation has a reply already, and is worth storing at the endpoint.
        `has_new_prefix`: something before a thought has changed since.
        """
        if self._last_sampling is not sampling:
            self._last_sampling, self._encoded = sampling, {}
        drops_thoughts = (
            has_new_prefix
            and self._model.binds_thoughts
            and BLOCK_BINDING not in self._profile.unsent_settings
        )
        key = (is_continued and self._profile.caches_prompts, drops_thoughts)
        if key not in self._encoded:
            self._encoded[key] = self._encode_settings(sampling, *key)
        return self._encoded[key]

    def _encode_settings(
        self, sampling: Sampling, stores_prompt: bool, drops_thoughts: bool
    ) -> EncodedSettings:
        _check_extra(sampling.extra)
        adaptations: list[Adaptation] = []
        body = self._body(sampling, adaptations)
        if stores_prompt:
            body.setdefault("cache_control", CACHE_MARK)
        headers: tuple[tuple[str, str], ...] = ()
        thinking = body.get("thinking", {"type": self._model.thinking})
        if drops_thoughts and thinking.get("type") in _THINKING_MODES:
            binding = claude_models.claude_table().binding
            body["thinking"] = {
                **thinking,
                "block_binding": {"prefix_mismatch_behavior": binding.behavior},
            }
            betas = dict.fromkeys((*self._profile.beta_features, binding.beta))
            headers = (("anthropic-beta", ",".join(betas)),)
            adaptations.append(
                _changed_setting(
                    "the offered tools have changed: the endpoint may leave out earlier thoughts"
                )
            )
        own_max_tokens = self._model.max_tokens if self._needs_limit(sampling) else 0
        tail = b"," + encode_json(body)[1:]
        return EncodedSettings(tail, tuple(adaptations), headers, own_max_tokens)

    def _needs_limit(self, sampling: Sampling) -> bool:
        """Return whether the user sets no limit of the reply, or one that is not sent."""
        is_sent = "max_tokens" not in self._profile.unsent_settings
        is_set = sampling.max_tokens is not None and is_sent
        return not is_set and "max_tokens" not in sampling.extra

    def _body(self, sampling: Sampling, adaptations: list[Adaptation]) -> Json:
        unsent = self._profile.unsent_settings
        body = request_parts.given_settings(sampling, unsent)
        effort = body.pop("reasoning_effort", None)
        if self._needs_limit(sampling):
            body["max_tokens"] = self._model.max_tokens
            adaptations.append(
                _changed_setting(f"max_tokens {self._model.max_tokens}: the wire needs a limit")
            )
        if effort is not None or self._model.thinks_unasked:
            limit = sampling.extra.get("max_tokens", body.get("max_tokens"))
            body |= self._thinking_field(effort, limit, adaptations)
        extra = sampling.extra
        if request_parts.TOOL_CHOICE in unsent:
            extra = _without_choice(extra)
            adaptations += request_parts.free_choice(sampling, (request_parts.TOOL_CHOICE,))
        for name, value in extra.items():
            is_partial = name == "output_config" and name in body
            body[name] = body[name] | value if is_partial else value
        if self._settings.is_stream:
            body["stream"] = True
        return body

    def _thinking_field(
        self, effort: str | None, limit: Any, adaptations: list[Adaptation]
    ) -> Json:
        """Return how the model is asked to think."""
        if effort in _OFF_EFFORTS:
            if self._model.off:
                return {"thinking": {"type": self._model.off}}
            adaptations.append(
                _changed_setting(f"reasoning_effort {effort}: the model always thinks")
            )
            effort = None
        if self._model.thinking == "enabled":
            return self._thinking_budget(effort or "", limit, adaptations)
        thinking: Json = {"type": "adaptive"}
        if THINKING_DISPLAY not in self._profile.unsent_settings:
            thinking["display"] = "summarized"
        if effort is None:
            return {"thinking": thinking}
        if effort in _ADAPTIVE_EFFORT:
            adaptations.append(
                _changed_setting(f"reasoning_effort {effort}: {_ADAPTIVE_EFFORT[effort]}")
            )
        return {
            "thinking": thinking,
            "output_config": {"effort": _ADAPTIVE_EFFORT.get(effort, effort)},
        }

    def _thinking_budget(self, effort: str, limit: Any, adaptations: list[Adaptation]) -> Json:
        """Return a number of tokens to think with, which is below the limit of the reply."""
        budgets = claude_models.claude_table().budgets
        if effort not in budgets:
            raise UsageError(
                f"this model has no reasoning effort {effort!r}; it has {', '.join(budgets)}, none"
            )
        wanted = budgets[effort]
        budget = min(wanted, limit - _MIN_ANSWER_TOKENS) if isinstance(limit, int) else wanted
        if budget < _MIN_BUDGET:
            adaptations.append(
                _changed_setting(f"no thinking: max_tokens {limit} leaves no room for it")
            )
            return {}
        adaptations.append(_changed_setting(f"reasoning_effort {effort}: {budget} tokens to think"))
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _check_extra(extra: Json) -> None:
    """Raise UsageError for what toolmark sets itself, and for objects that are none."""
    request_parts.check_extra(extra)
    for name in _OBJECTS:
        if name in extra and not isinstance(extra[name], dict):
            raise UsageError(f"the extra body: {name!r} must be an object")


def _without_choice(extra: Json) -> Json:
    """Return the extra body in which the model decides itself whether to call a tool.

    What else the choice holds, such as that one call comes at a time, stays.
    """
    choice = extra.get(request_parts.TOOL_CHOICE)
    found = {name: value for name, value in extra.items() if name != request_parts.TOOL_CHOICE}
    if isinstance(choice, dict) and _ONE_CALL in choice:
        found[request_parts.TOOL_CHOICE] = {"type": "auto", _ONE_CALL: choice[_ONE_CALL]}
    return found


def _changed_setting(detail: str) -> Adaptation:
    return Adaptation(kind="setting", detail=detail)
