"""Wrappers have all abilities of what they wrap; what behaves like a model inherits Model."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import toolmark
from toolmark.agents.agent import FormattedControl
from toolmark.agents.agent_session import SessionModel
from toolmark.agents.native_view import NativeView, NativeViewModel
from toolmark.agents.phased_model import PhasedModel
from toolmark.core.canary import RequestGuard
from toolmark.core.environment import (
    DelegatingEnvironment,
    DelegatingFactory,
    Environment,
    EnvironmentFactory,
    EnvironmentWithUser,
    read_final_state,
)
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, DelegatingModel, FunctionModel, Model
from toolmark.core.records import (
    Call,
    Message,
    Reply,
    Request,
    Result,
    Sampling,
    Task,
    Text,
    Tool,
    Turn,
    Variation,
)
from toolmark.environments.cassette import Cassette
from toolmark.environments.class_environments import PlainStateEnvironment
from toolmark.environments.recorded_environment import Episode, RecordedEnvironment
from toolmark.environments.recording_factory import RecordingFactory
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import PromptFormat
from toolmark.models.cost_limit import CostLimit, LimitedModel
from toolmark.models.rate_limits import RateLimitedModel, RateLimiter
from toolmark.models.request_policies import CachedModel, PacedModel, RetryingModel
from toolmark.models.run_spending import CountedModel, RunSpending
from toolmark.models.token_prices import ModelPrice
from toolmark.models.user_model import UserModel
from toolmark.runs.episode_time_limit import EpisodeModel, TimeLimit
from toolmark.runs.variations.varied_episode import ControlWithShownNames, VariedEnvironment
from toolmark.suites.bfcl.category_environments import CategoryEnvironments
from toolmark.suites.funcbench import mcp_environment
from toolmark.suites.mfcl_speech.speech_environments import SpeechEnvironments
from toolmark.suites.mfcl_vision.web_environment import UnknowingUser

SOURCE = Path(toolmark.__file__).parent
SAID = (Message(role="user", parts=(Text("hello"),)),)
REQUEST = Request(messages=SAID)
TASK = Task(id="t", suite="s", turns=(Turn(messages=SAID),))


# --- marks: each ability has a value that is not its default --------------------------------


class MarkedModel(Model):
    name = "marked"
    accepts_audio = False
    calls_natively = True

    def __init__(self) -> None:
        self.closed = 0

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(text="marked")

    @property
    def unsent_settings(self) -> frozenset[str]:
        return frozenset({"top_p"})

    @property
    def refused_settings(self) -> frozenset[str]:
        return frozenset({"top_p"})

    @property
    def wait_reasons(self) -> Collection[str]:
        return ("busy",)

    @property
    def activity(self) -> str:
        return "thinks"

    async def close(self) -> None:
        self.closed += 1


class MarkedEnvironment(Environment):
    max_parallel_calls = 7

    def __init__(self, workspace: Path, *, has_user: bool = True) -> None:
        self.workspace = workspace
        self.user = UnknowingUser() if has_user else None

    async def tools(self) -> tuple[Tool, ...]:
        return (Tool(name="funcbench/marked"),)

    def tools_changed(self) -> bool:
        return True

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        return (*messages, Message(role="user", parts=(Text("marked"),)))

    async def call(self, call: Call, /) -> Result:
        return Result(parts=(Text(f"marked {call.name}"),))

    def final_state(self) -> Any:
        return "marked"


class MarkedFactory(EnvironmentFactory):
    def incident_notes(self) -> Mapping[str, Sequence[str]]:
        return {"server": ("it died",)}

    def part_descriptions(self) -> Mapping[str, Sequence[str]]:
        return {"server": ("version 1",)}


async def model_abilities(model: Model, inner: MarkedModel | None = None) -> dict[str, Any]:
    """Return what a model can do, and how often what is inside was closed with it."""
    found = {
        "name": model.name,
        "accepts_audio": model.accepts_audio,
        "calls_natively": model.calls_natively,
        "__call__": (await model(REQUEST)).text,
        "refused_settings": model.refused_settings,
        "unsent_settings": model.unsent_settings,
        "wait_reasons": tuple(model.wait_reasons),
        "activity": model.activity,
    }
    await model.close()
    return {**found, "close": inner.closed if inner else 0}


async def environment_abilities(environment: Environment, tool: str) -> dict[str, Any]:
    return {
        "max_parallel_calls": environment.max_parallel_calls,
        "user": environment.user,
        "workspace": environment.workspace,
        "tools_changed": environment.tools_changed(),
        "opening": await environment.opening(SAID),
        "tools": [each.name.removeprefix("funcbench/") for each in await environment.tools()],
        "call": await environment.call(Call(name=tool, arguments="{}")),
        "final_state": await read_final_state(environment),
    }


def factory_abilities(factory: EnvironmentFactory) -> dict[str, Any]:
    return {
        "incident_notes": factory.incident_notes(),
        "part_descriptions": factory.part_descriptions(),
    }


def public_names(base: type) -> set[str]:
    """Return the abilities that a base class defines."""
    return {n for n in vars(base) if not n.startswith("_") or n == "__call__"}


def test_the_marks_cover_every_ability_and_differ_from_its_default(tmp_path: Path) -> None:
    inner = MarkedModel()
    model = asyncio.run(model_abilities(inner, inner))
    plain = asyncio.run(model_abilities(FunctionModel(MarkedModel().__call__)))
    assert model.keys() == public_names(Model)
    assert [name for name in model if model[name] == plain[name]] == ["__call__"]
    marked = asyncio.run(environment_abilities(MarkedEnvironment(tmp_path), "f"))
    default = asyncio.run(environment_abilities(Environment(), "f"))
    assert marked.keys() == public_names(Environment)
    assert [name for name in marked if marked[name] == default[name]] == []
    factory = factory_abilities(MarkedFactory())
    assert {*factory, "open_environment"} == public_names(EnvironmentFactory)
    assert all(factory.values()) and not any(factory_abilities(EnvironmentFactory()).values())


# --- every wrapper of the package -----------------------------------------------------------

MODEL_WRAPPERS: dict[type[DelegatingModel], Callable[[Model, Path], DelegatingModel]] = {
    CachedModel: lambda model, folder: CachedModel(model, folder, "id"),
    ControlWithShownNames: lambda model, folder: ControlWithShownNames(
        model, Variation(kind="names", own_names={"shown": "own"})
    ),
    CountedModel: lambda model, folder: CountedModel(model, RunSpending(), "checks", None),
    LimitedModel: lambda model, folder: LimitedModel(model, CostLimit(1, {}), ModelPrice()),
    FormattedControl: lambda model, folder: FormattedControl(model, PromptFormat()),
    NativeViewModel: lambda model, folder: NativeViewModel(model, NativeView(NATIVE_FORMAT)),
    PacedModel: lambda model, folder: PacedModel(model, 1),
    RateLimitedModel: lambda model, folder: RateLimitedModel(
        model, RateLimiter(60, 1000, read_clock=time.monotonic)
    ),
    PhasedModel: lambda model, folder: PhasedModel(model),
    SessionModel: lambda model, folder: SessionModel(model, Sampling(), 0),
    RetryingModel: lambda model, folder: RetryingModel(model, 1),
    EpisodeModel: lambda model, folder: EpisodeModel(model, TimeLimit(None), RequestGuard(), []),
    UserModel: lambda model, folder: UserModel(model, owns_model=True),
}


async def record(live: Environment, folder: Path) -> RecordedEnvironment:
    cassette = Cassette(folder / "tape.jsonl")
    recorded = RecordedEnvironment(
        Episode(cassette, cassette.media, None, (), TASK, {}, needed_digest="", instance_digest="")
    )
    await recorded.use_live(live)
    return recorded


class EnvironmentCase(NamedTuple):
    """How a wrapper is made, and the name of a tool under which it is called."""

    make: Callable[[Environment, Path], Any]
    tool: str = "funcbench/marked"
    has_user: bool = True


ENVIRONMENT_WRAPPERS: dict[type[DelegatingEnvironment], EnvironmentCase] = {
    VariedEnvironment: EnvironmentCase(
        lambda live, _: VariedEnvironment(live, Task(id="t", turns=()), Variation(kind="wording"))
    ),
    EnvironmentWithUser: EnvironmentCase(lambda live, _: EnvironmentWithUser(live, live.user)),
    PlainStateEnvironment: EnvironmentCase(lambda live, _: PlainStateEnvironment(live)),
    RecordedEnvironment: EnvironmentCase(record, has_user=False),  # a user is refused
    mcp_environment.FuncbenchMcpEnvironment: EnvironmentCase(
        lambda live, _: mcp_environment.FuncbenchMcpEnvironment(TASK, live), "marked"
    ),
}

FACTORY_WRAPPERS: dict[type[DelegatingFactory], Callable[[Any, Path], DelegatingFactory]] = {
    CategoryEnvironments: lambda live, _: CategoryEnvironments(
        {"a": live, "b": EnvironmentFactory()}
    ),
    RecordingFactory: lambda live, folder: RecordingFactory(live, Cassette(folder / "t.jsonl")),
    SpeechEnvironments: lambda live, folder: SpeechEnvironments(
        live, None, MediaStore(folder), MediaStore(folder)
    ),
    mcp_environment.FuncbenchMcpEnvironments: lambda live, folder: (
        mcp_environment.FuncbenchMcpEnvironments(live, mcp_environment._TaskFolder(folder))
    ),
}


@cache
def package_classes() -> tuple[type, ...]:
    """Return every class of the package."""
    found: dict[type, None] = {}
    for module in pkgutil.walk_packages(toolmark.__path__, "toolmark."):
        if not module.name.endswith("__main__"):
            for each in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(each) and each.__module__.startswith("toolmark."):
                    found[each] = None
    return tuple(found)


def subclasses(base: type) -> set[type]:
    return {each for each in package_classes() if issubclass(each, base) and each is not base}


def test_every_wrapper_of_the_package_is_tested() -> None:
    assert subclasses(DelegatingModel) == MODEL_WRAPPERS.keys()
    assert subclasses(DelegatingEnvironment) == ENVIRONMENT_WRAPPERS.keys()
    assert subclasses(DelegatingFactory) == FACTORY_WRAPPERS.keys()


@pytest.mark.parametrize("kind", MODEL_WRAPPERS)
def test_a_model_wrapper_has_all_abilities(kind: type[DelegatingModel], tmp_path: Path) -> None:
    inner, alone = MarkedModel(), MarkedModel()
    found = asyncio.run(model_abilities(MODEL_WRAPPERS[kind](inner, tmp_path), inner))
    assert found == asyncio.run(model_abilities(alone, alone))


@pytest.mark.parametrize("kind", ENVIRONMENT_WRAPPERS)
def test_an_environment_wrapper_has_all_abilities(
    kind: type[DelegatingEnvironment], tmp_path: Path
) -> None:
    case = ENVIRONMENT_WRAPPERS[kind]
    inner = MarkedEnvironment(tmp_path, has_user=case.has_user)

    async def wrapped() -> dict[str, Any]:
        made = case.make(inner, tmp_path)
        environment = await made if inspect.isawaitable(made) else made
        return await environment_abilities(environment, case.tool)

    assert asyncio.run(wrapped()) == asyncio.run(environment_abilities(inner, "funcbench/marked"))


@pytest.mark.parametrize("kind", FACTORY_WRAPPERS)
def test_a_factory_wrapper_reports_all_parts(kind: type[DelegatingFactory], tmp_path: Path) -> None:
    found = factory_abilities(FACTORY_WRAPPERS[kind](MarkedFactory(), tmp_path))
    assert found == factory_abilities(MarkedFactory())


# --- nothing wraps, or is one, without saying so --------------------------------------------


def collected_types(kind: type) -> str:
    """Return the types that a class's fields and constructor name."""
    parameters = inspect.signature(vars(kind).get("__init__", object)).parameters.values()
    fields = inspect.get_annotations(kind).values()
    return " ".join(map(str, [*(each.annotation for each in parameters), *fields]))


@pytest.mark.parametrize(
    ("base", "wrapper", "inner"),
    [
        (Model, DelegatingModel, r"\bModel\b"),
        (Environment, DelegatingEnvironment, r"\bEnvironment\b"),
        (EnvironmentFactory, DelegatingFactory, r"\b\w*(Factory|Environments)\b"),
    ],
)
def test_what_holds_an_inner_one_delegates_to_it(base: type, wrapper: type, inner: str) -> None:
    holders = {each for each in subclasses(base) if re.search(inner, collected_types(each))}
    assert holders and all(issubclass(each, wrapper) for each in holders)


def duck_types(text: str) -> Iterator[tuple[str, str]]:
    """Yield the classes with the methods of a base class, and that base class."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            methods = {
                each.name: [arg.arg for arg in (*each.args.posonlyargs, *each.args.args)][1:2]
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            for method, first, base in (
                ("__call__", "request", "Model"),
                ("bind", "task", "Control"),
                ("call", "call", "Environment"),
                ("open_environment", "task", "EnvironmentFactory"),
            ):
                if methods.get(method) == [first]:
                    yield node.name, base


def test_what_behaves_like_one_inherits_it() -> None:
    bases = {"Model": Model, "Control": Control, "Environment": Environment,
             "EnvironmentFactory": EnvironmentFactory}  # fmt: skip
    found = [pair for path in SOURCE.rglob("*.py") for pair in duck_types(path.read_text())]
    assert len(found) > 30
    for name, base in found:
        kinds = [each for each in package_classes() if each.__name__ == name]
        assert kinds, name
        assert all(issubclass(each, bases[base]) for each in kinds), name
