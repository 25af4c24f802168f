"""A model of the user's own: whether it is one, what it is called, and what its replies hang on."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from toolmark import codec, plugin
from toolmark.errors import ReplyError, ToolmarkError, UsageError, traced
from toolmark.media import Media
from toolmark.models.policy import Wrapper
from toolmark.types import Call, Instrument, Model, Reply, Request


class Who(NamedTuple):
    """Which model it is: `name`, and `code`, the digest of the source that it stands in, or "".

    `sure`: the two tell it from every other model. They do not for what is made as a program runs
    and has no `.name`: instances, lambdas, closures, partials, functions of a notebook.
    """

    name: str
    code: str = ""
    sure: bool = True

    @property
    def identity(self) -> str:
        """What kept replies depend on."""
        return f"{self.name}\n{self.code}" if self.code else self.name


def who(model: object) -> Who:
    """Return which model an object is. Raises UsageError for one that is none.

    A `.name` is taken at its word. A function at the top of a file is known by module and name;
    that of a script stands under the script's file. A class there is known as `module:class`.
    """
    check(model)
    given = getattr(model, "name", "")
    if isinstance(given, str) and given:
        return Who(given)
    if inspect.isclass(model) and _stands(model):
        spec = f"{model.__module__}:{model.__qualname__}"
        return Who(_called(model, ":"), named(spec, model).code)
    plain = inspect.unwrap(model) if callable(model) else model
    code = _digest(plain)
    return Who(_called(model), code, sure=bool(code) and _stands(model))


def named(spec: str, model: object) -> Who:
    """Return which model `module:attribute` is: its words, and the source of it and its module."""
    made = model if inspect.isroutine(model) or inspect.isclass(model) else type(model)
    return Who(spec, _digest(sys.modules.get(spec.partition(":")[0]), made))


def asks(thing: object) -> bool:
    """Tell whether it is an `async (Request) -> Reply` or makes one, as far as can be seen."""
    made = thing if inspect.isclass(thing) else type(thing)
    called = getattr(made, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(thing) or inspect.iscoroutinefunction(called)


def check(model: object) -> None:
    """Raise UsageError for an object that cannot be asked, before anything is."""
    if isinstance(model, Instrument) or asks(model):
        return
    if inspect.isclass(model):
        raise UsageError(
            f"{model.__qualname__} makes no model: a model has `async def __call__(self, request)`"
        )
    if _hides(model):
        return
    if callable(model):
        raise UsageError(f"{_called(model)} {_SYNC}")
    raise UsageError(
        f"expected a model, got {type(model).__name__}: a name such as openai/NAME, or an "
        "`async (Request) -> Reply`"
    )


def _hides(model: object) -> bool:
    """Tell whether a function may hand on what an async one gives, which only a call shows."""
    return inspect.isfunction(model) and (
        model.__name__ == "<lambda>" or hasattr(model, "__wrapped__")
    )


_SYNC = "is not async: a model is `async def model(request) -> Reply`"


def load(spec: str, media: Media | None) -> Model | Instrument:
    """Return the object `module:attribute`, or what a class or factory of that name makes.

    One that takes `media` is given the run's pictures and recordings, others nothing.
    """
    found = plugin.attribute(spec)
    made: object = found
    if inspect.isclass(found) or not (isinstance(found, Instrument) or asks(found)):
        made = make(spec, found, media) if callable(found) else None
    if not inspect.isclass(made) and (isinstance(made, Instrument) or asks(made)):
        return cast("Model | Instrument", made)
    raise UsageError(f"{spec} is no model: a model is `async (request) -> reply`")


def given(model: object, media: Media | None) -> Model | Instrument:
    """Return a model that is given as it is; of a class the one that it makes."""
    check(model)
    if inspect.isclass(model):
        model = make(model.__qualname__, model, media)
    return cast("Model | Instrument", model)


def make(spec: str, maker: Callable[..., object], media: Media | None) -> object:
    """Return what a class or factory makes; one that takes `media` is given the run's."""
    taken: dict[str, Media | None] = {}
    try:
        wanted = inspect.signature(maker)
        taken = {"media": media} if "media" in wanted.parameters else {}
        wanted.bind(**taken)
    except ValueError:  # some that are written in C tell nothing
        pass
    except TypeError as error:
        raise UsageError(
            f"{spec} cannot be made, {error}: it is given nothing but media; give a model that is "
            "made already"
        ) from None
    if taken and media is None:
        raise UsageError(f"{spec} wants pictures or recordings: it plays suites that have them")
    try:
        return maker(**taken)
    except ToolmarkError:
        raise
    except Exception as error:
        raise UsageError(f"{spec} cannot be made: {traced(error)}") from error


class Own(Wrapper):
    """A model of the user's own; what it returns is looked at before anything is made of it."""

    def __init__(self, model: Model, *, made: bool = False) -> None:
        super().__init__(model)
        self._sound = False
        self._made = made  # for this run: what was given ready-made is its owner's to close

    async def __call__(self, request: Request, /) -> Reply:
        """Ask once. Raises UsageError for a first reply that is none, ReplyError for others."""
        asked: object = self.model(request)
        if not inspect.isawaitable(asked):
            raise UsageError(f"{_called(self.model)} {_SYNC}")
        reply: object = await asked
        if why := _amiss(reply):
            raise ReplyError(why) if self._sound else UsageError(f"{self.name}: {why}")
        self._sound = True
        return cast(Reply, reply)

    async def close(self) -> None:
        """Close the model if it was made for this run, async or not."""
        close = getattr(self.model, "close", None)
        done = close() if self._made and callable(close) else None
        if inspect.isawaitable(done):
            await done


def _amiss(reply: object) -> str:
    """Say what is wrong with what a model returned, "" for a reply."""
    if not isinstance(reply, Reply):
        return f"a model must return a Reply, such as Reply(text=...), got {type(reply).__name__}"
    said: Any = reply
    if not isinstance(said.text, str):
        return f"the text of a Reply must be a str, got {type(said.text).__name__}"
    if not isinstance(said.calls, tuple) or not all(isinstance(x, Call) for x in said.calls):
        return "the calls of a Reply must be a tuple of Call"
    odd = [x.arguments for x in said.calls if not isinstance(x.arguments, str)]
    if odd:
        return f"the arguments of a Call must be text, a JSON object, got {type(odd[0]).__name__}"
    try:  # a run is read back from what is written of it
        codec.decode(codec.encode(reply), Reply)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        return f"a Reply that cannot be stored: {error}"
    return ""


def _called(model: object, sign: str = ".") -> str:
    """Return module and name of a function, or of an object's class."""
    while isinstance(model, partial):
        model = model.func
    thing: Any = model if hasattr(model, "__qualname__") else type(model)
    module = str(thing.__module__)
    script = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    if module == "__main__" and script.is_file():
        place = hashlib.sha256(str(script.resolve()).encode()).hexdigest()
        module = f"{script.stem}-{place[:6]}"  # scripts of one name are others
    return f"{module}{sign}{thing.__qualname__}"


def _stands(model: object) -> bool:
    """Tell whether a module holds this very object under its own name."""
    found: Any = sys.modules.get(str(getattr(model, "__module__", "")))
    if not getattr(found, "__file__", None):
        return False
    for name in str(getattr(model, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is model


def _digest(*things: Any) -> str:
    """Return the sha256 over the files that these objects stand in, "" where there is none."""
    files = sorted({file for thing in things if (file := _file(thing)) is not None})
    if not files:
        return ""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _file(thing: Any) -> Path | None:
    while isinstance(thing, partial):
        thing = thing.func
    try:
        name = inspect.getsourcefile(thing)
    except TypeError:  # not a thing of source: an instance, or written in C
        return None
    path = Path(name) if name else None
    return path if path is not None and path.is_file() else None  # a notebook's cell is no file
