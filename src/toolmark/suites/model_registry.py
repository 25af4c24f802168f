"""Find baselines and controls by name; any other name is left to `resolve_model`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast
from urllib.parse import parse_qsl

from toolmark.baselines.shortcut_agents import SHORTCUT_NAMES, make_shortcut
from toolmark.core import user_modules
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.core.records import Task
from toolmark.models import audio_encoding, user_model
from toolmark.models.model_resolver import resolve_model
from toolmark.suites.suite_names import SUITES

_BASELINE_SPECS = {
    "planner": "toolmark.baselines.backward_planner:BackwardPlanner",
    "eager": "toolmark.baselines.eager_caller:EagerCaller",
    "lexical": "toolmark.baselines.lexical_matcher:LexicalMatcher",
    "listener": "toolmark.baselines.speech_listener:SpeechListener",
    "ocr-search": "toolmark.suites.mfcl_vision.search_baselines:TextSearchAgent",
    "blind": "toolmark.suites.mfcl_vision.search_baselines:BlindSearchAgent",
    "none": "toolmark.agents.agent_session:NoModel",
}
_CONTROL_SPECS = {
    "null": "toolmark.baselines.common_controls:NullControl",
    "always-call": "toolmark.baselines.common_controls:AlwaysCallControl",
    "dead": "toolmark.baselines.common_controls:DeadControl",
}

ControlMaker = Callable[[Task, int, Mapping[str, str]], ReplyFunction]


class HasControls(Protocol):
    """What this module needs of a suite: its name and its controls."""

    @property
    def name(self) -> str:
        """Return the suite's name."""
        ...

    @property
    def controls(self) -> Mapping[str, ControlMaker]:
        """Return the makers of its controls."""
        ...


class BoundControl(Control):
    """A suite's control with its options."""

    def __init__(self, name: str, make: ControlMaker, options: Mapping[str, str]) -> None:
        self.name = name
        self._make = make
        self._options = options

    def bind(self, task: Task, repeat: int, /) -> ReplyFunction:
        """Return the model that plays this episode."""
        return self._make(task, repeat, self._options)


def make_model(
    spec: str | ReplyFunction | type[Model],
    *,
    suite: HasControls | None = None,
    media: MediaStore | None = None,
    **connection: Any,
) -> Model:
    """Return the model, baseline or control that `spec` names or is, ready to be asked.

    `baseline/NAME` and `control/NAME?option=value` are looked up here; a control may be one of the
    suite's. Every other name goes to `resolve_model`, which also defines what `connection` may
    hold. Raises UsageError.
    """
    if isinstance(spec, str):
        audio_encoding.check_audio_format(connection.get("audio", "wav"))
        scheme, _, name = spec.partition("/")
        if scheme == "baseline":
            return _make_baseline(name, media)
        if scheme == "control":
            return _make_control(name, suite)
    return resolve_model(spec, media=media, **connection)


def _make_baseline(name: str, media: MediaStore | None) -> Model:
    if name in SHORTCUT_NAMES:
        return make_shortcut(name)
    makers = {each: entry.baseline_maker for entry in SUITES.values() for each in entry.baselines}
    known = {**_BASELINE_SPECS, **makers, **dict.fromkeys(SHORTCUT_NAMES, "")}
    spec = _look_up(name, known, "baseline")
    make = user_modules.import_attribute(spec)
    if name in makers:  # one model by its name
        return cast(Model, make(name))
    return cast(Model, user_model.construct_model(f"baseline/{name}", make, media))


def _make_control(spec: str, suite: HasControls | None) -> Model:
    name, _, query = spec.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    suite_controls: Mapping[str, ControlMaker] = suite.controls if suite else {}
    if name in suite_controls:
        return BoundControl(f"control/{spec}", suite_controls[name], options)
    control_spec = _look_up(
        name, {**_CONTROL_SPECS, **dict.fromkeys(suite_controls, "")}, "control"
    )
    if options:
        raise UsageError(f"control/{name} takes no options")
    return cast(Model, user_modules.import_attribute(control_spec)())


def _look_up(name: str, table: Mapping[str, str], kind: str) -> str:
    if name not in table:
        raise UsageError(f"no {kind} {name!r}{suggest_names(name, table)}")
    return table[name]
