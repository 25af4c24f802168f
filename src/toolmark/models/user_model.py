"""A model of the user: whether it is valid, its identity, and on what its replies depend."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from toolmark.core import json_codec, user_modules
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import ReplyError, ToolmarkError, UsageError, describe_error
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, DelegatingModel, FunctionModel, Model, ReplyFunction
from toolmark.core.records import Call, Reply, Request


class ModelIdentity(NamedTuple):
    """The identity of a model: `name`, and `code`, the digest of its source, or "".

    `is_unique`: the two distinguish it from every other model. They do not for what is made while a
    program runs and has no `.name`: instances, lambdas, closures, partials, functions of a
    notebook.
    """

    name: str
    code: str = ""
    is_unique: bool = True

    @property
    def identity(self) -> str:
        """The identity on which cached replies depend."""
        return f"{self.name}\n{self.code}" if self.code else self.name


def identify_object(model: object) -> ModelIdentity:
    """Return the identity of a model object; raises UsageError for an object that is no model.

    A `.name` is accepted as given. A function at the top of a file is identified by module and
    name; in a script by the script's file and name. A class at the top of a file is `module:class`.
    """
    check_model(model)
    if name := _given_name(model):
        return ModelIdentity(name)
    if inspect.isclass(model) and is_module_level(model):
        spec = f"{model.__module__}:{model.__qualname__}"
        return ModelIdentity(qualified_name(model, ":"), identify_spec(spec, model).code)
    unwrapped = inspect.unwrap(model) if callable(model) else model
    code = _source_digest(unwrapped)
    return ModelIdentity(
        qualified_name(model), code, is_unique=bool(code) and is_module_level(model)
    )


def identify_spec(spec: str, model: object) -> ModelIdentity:
    """Return the identity of `module:attribute`: its text, and the source of it and its module."""
    source_object = model if inspect.isroutine(model) or inspect.isclass(model) else type(model)
    return ModelIdentity(spec, _source_digest(user_modules.loaded_module(spec), source_object))


def is_model(candidate: object) -> bool:
    """Return whether it is a model or makes one, as far as can be seen.

    That is a subclass of Model or its instance, or an `async (Request) -> Reply`.
    """
    if inspect.iscoroutinefunction(candidate):
        return True
    candidate_type = candidate if inspect.isclass(candidate) else type(candidate)
    if issubclass(candidate_type, Model):
        return candidate_type.__call__ is not Model.__call__ or issubclass(candidate_type, Control)
    return inspect.iscoroutinefunction(getattr(candidate_type, "__call__", None))  # noqa: B004


def check_model(model: object) -> None:
    """Raise UsageError, before any request, for an object that cannot be asked."""
    if is_model(model):
        return
    if inspect.isclass(model):
        raise UsageError(
            f"{model.__qualname__} makes no model: a model has `async def __call__(self, request)`"
        )
    if _may_wrap_async(model):
        return
    if callable(model):
        raise UsageError(f"{qualified_name(model)} {_NOT_ASYNC}")
    raise UsageError(
        f"expected a model, got {type(model).__name__}: a name such as openai/NAME, or an "
        "`async (Request) -> Reply`"
    )


def _may_wrap_async(model: object) -> bool:
    """Return whether a function may return what an async one returns, which only a call shows."""
    return inspect.isfunction(model) and (
        model.__name__ == "<lambda>" or inspect.unwrap(model) is not model
    )


_NOT_ASYNC = "is not async: a model is `async def model(request) -> Reply`"


def load_model(spec: str, media: MediaStore | None) -> object:
    """Return the object `module:attribute`, or what a class or factory of that name makes.

    A class or factory that takes `media` gets the store of the run's pictures and recordings.
    """
    found = user_modules.import_attribute(spec)
    instance: object = found
    if inspect.isclass(found) or not is_model(found):
        instance = construct_model(spec, found, media) if callable(found) else None
    if inspect.isclass(instance) or not is_model(instance):
        raise UsageError(f"{spec} is no model: a model is `async (request) -> reply`")
    return instance


def prepare_model(model: object, media: MediaStore | None) -> object:
    """Return a model object unchanged, or the one that a class makes."""
    check_model(model)
    if inspect.isclass(model):
        model = construct_model(model.__qualname__, model, media)
    return model


def adapt_object(model: object) -> Model:
    """Return a Model unchanged, and any other object that can be asked as a Model.

    This is the one place that looks for attributes of a plain object: `name` and `close`.
    """
    if isinstance(model, Model):
        return model
    function = cast(ReplyFunction, model)
    close = getattr(model, "close", None)
    return FunctionModel(function, _given_name(model), close if callable(close) else None)


def _given_name(model: object) -> str:
    name = getattr(model, "name", "")
    return name if isinstance(name, str) else ""


def construct_model(spec: str, factory: Callable[..., object], media: MediaStore | None) -> object:
    """Return what a class or factory makes; one that takes `media` gets the run's store."""
    arguments: dict[str, MediaStore | None] = {}
    try:
        parameters = inspect.signature(factory)
        arguments = {"media": media} if "media" in parameters.parameters else {}
        parameters.bind(**arguments)
    except ValueError:  # some functions in C have no signature
        pass
    except TypeError as error:
        raise UsageError(
            f"{spec} is no model and makes none ({error}); next: write `async def "
            "model(request) -> tm.Reply`, or a class that can be made without arguments; a rule of "
            "a judge is tm.ScriptedJudge(rule)"
        ) from None
    if arguments and media is None:
        raise UsageError(f"{spec} wants pictures or recordings: it plays suites that have them")
    try:
        return factory(**arguments)
    except ToolmarkError:
        raise
    except Exception as error:
        raise UsageError(f"{spec} cannot be made: {describe_error(error)}") from error


class UserModel(DelegatingModel):
    """A model of the user; its replies are checked before they are used."""

    def __init__(self, model: Model, *, owns_model: bool = False) -> None:
        super().__init__(model)
        # the user's own object: asked directly, and named in messages
        self._asked_object = model.function if isinstance(model, FunctionModel) else model
        self._replied = False
        self._owns_model = owns_model  # made for this run; the user closes a model given ready-made

    async def __call__(self, request: Request, /) -> Reply:
        """Ask once; raises UsageError if the first reply is none, ReplyError for later ones."""
        awaitable: object = self._asked_object(request)
        if not inspect.isawaitable(awaitable):
            raise UsageError(f"{qualified_name(self._asked_object)} {_NOT_ASYNC}")
        reply: object = await awaitable
        if fault := reply_fault(reply):
            who = self.name or type(self._asked_object).__name__
            raise ReplyError(fault) if self._replied else UsageError(f"{who}: {fault}")
        self._replied = True
        return cast(Reply, reply)

    async def close(self) -> None:
        """Close the model if it was made for this run."""
        if self._owns_model:
            await self.model.close()


def reply_fault(reply: object) -> str:
    """Return what is wrong with what a model returned, "" for a reply that can be stored."""
    if not isinstance(reply, Reply):
        return f"a model must return a Reply, such as Reply(text=...), got {type(reply).__name__}"
    candidate: Any = reply
    if not isinstance(candidate.text, str):
        return f"the text of a Reply must be a str, got {type(candidate.text).__name__}"
    if not isinstance(candidate.calls, tuple) or not all(
        isinstance(x, Call) for x in candidate.calls
    ):
        return "the calls of a Reply must be a tuple of Call"
    wrong_arguments = [x.arguments for x in candidate.calls if not isinstance(x.arguments, str)]
    if wrong_arguments:
        return (
            "the arguments of a Call must be text, a JSON object, got "
            f"{type(wrong_arguments[0]).__name__}"
        )
    try:  # a run is read back from what is stored of it
        json_codec.decode_record(json_codec.encode_record(reply), Reply)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        return f"a Reply that cannot be stored: {describe_decode_error(error)}"
    return ""


def qualified_name(model: object, separator: str = ".") -> str:
    """Return module and name of a function, or of an object's class."""
    while isinstance(model, partial):
        model = model.func
    named_object: Any = model if getattr(model, "__qualname__", "") else type(model)
    module = str(named_object.__module__)
    script = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    if module == "__main__" and script.is_file():
        path_hash = hashlib.sha256(str(script.resolve()).encode()).hexdigest()
        module = f"{script.stem}-{path_hash[:6]}"  # scripts of the same name differ
    return f"{module}{separator}{named_object.__qualname__}"


def is_module_level(model: object) -> bool:
    """Return whether a module contains this very object under its own name."""
    found: Any = sys.modules.get(str(getattr(model, "__module__", "")))
    if not getattr(found, "__file__", None):
        return False
    for name in str(getattr(model, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is model


def _source_digest(*objects: Any) -> str:
    """Return the SHA-256 over the files of these objects' sources, "" if there are none."""
    files = sorted({file for thing in objects if (file := _source_file(thing)) is not None})
    if not files:
        return ""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _source_file(source_object: Any) -> Path | None:
    while isinstance(source_object, partial):
        source_object = source_object.func
    try:
        name = inspect.getsourcefile(source_object)
    except TypeError:  # an instance, or written in C
        return None
    path = Path(name) if name else None
    return path if path is not None and path.is_file() else None  # a notebook's cell is no file
