"""Work spread over processes that know nothing of the script that started them.

Children of `multiprocessing` run the main script once more, so that one which calls toolmark
without a guard would start itself again; forks of a process with threads may hang. These children
import toolmark, what the work itself names, and nothing else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain, groupby, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from toolmark import plugin
from toolmark.errors import DataError, ToolmarkError, UsageError
from toolmark.types import Task

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 3  # items in hand per process: none waits for the slowest, and few are held
_FEW = 8  # items that are not worth starting processes for
_WAIT_S = 5.0
_SHOWN = 100  # characters of an item and of an error
_START = (
    "import sys; from multiprocessing.connection import Connection; "
    "pipe = Connection(int(sys.argv[1])); sys.path[:] = pipe.recv(); "
    f"from {__name__} import serve; serve(pipe)"
)


def each(work: Callable[[T], R], items: Iterable[T], n: int, *, few: int = 0) -> Iterator[R]:
    """Go through what the work makes of the items, in their order, in n processes.

    Fewer items than `few` are not worth starting processes for: they are done in this one, and so
    are all where n is 1; with 0 none are.

    Work, items and results travel, so they must be what `pickle` takes, and the work nothing of
    the main script's. ToolmarkErrors of the work are raised here; DataError says of any other on
    which item it came, and of a process that died how.
    """
    items = iter(items)
    head = list(islice(items, few))
    items = chain(head, items)
    if few and (n == 1 or len(head) < few):
        for item in items:
            yield work(item)
    else:
        yield from _spread(work, items, n)


def by_item(
    work: Callable[[Sequence[Task]], Iterable[Task]], tasks: Iterable[Task]
) -> Iterator[Task]:
    """Go through what the work makes of tasks, of those of one item at a time, on all cores.

    The tasks of an item stand beside each other, and the order is kept; a few items are done here.
    """
    units = (tuple(unit) for _, unit in groupby(tasks, key=lambda task: task.item))
    for made in each(work, units, cores(), few=_FEW):
        yield from made


def _spread(work: Callable[[T], R], items: Iterable[T], n: int) -> Iterator[R]:
    with ExitStack() as stack:
        free: SimpleQueue[_Child[T, R]] = SimpleQueue()
        for _ in range(n):
            free.put(stack.enter_context(_Child(work)))
        threads = ThreadPoolExecutor(n, thread_name_prefix="workers")
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)

        def done(item: T) -> R:
            child = free.get()
            try:
                return child.ask(item)
            finally:
                free.put(child)

        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(threads.submit(done, item))
            if len(waiting) > _AHEAD * n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def cores() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class _Child(Generic[T, R]):
    """A process that does the work, one item at a time."""

    def __init__(self, work: Callable[[T], R]) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                # without -P whatever lies in the current folder would go before the library
                [sys.executable, "-P", "-c", _START, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for who started it, who tells it to end
            )
        self._pipe.send(sys.path)
        self._pipe.send(work)

    def ask(self, item: T) -> R:
        try:
            self._pipe.send(item)
            fine, made = self._pipe.recv()
        except (EOFError, OSError):
            code = self._process.wait(_WAIT_S)
            raise DataError(f"a process that worked on {_shown(item)} {_ending(code)}") from None
        if not fine:
            if isinstance(made, _Fault):
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_WAIT_S)  # it prints its trace and ends
            raise made
        return made  # type: ignore[no-any-return]

    def __enter__(self) -> _Child[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe.close()


def serve(pipe: Connection[Any, Any]) -> None:
    """Do the work on what comes, until nothing more does: in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it tells it to end
    with suppress(EOFError, OSError):
        work = pipe.recv()
        while True:
            item = pipe.recv()
            try:
                made = True, work(item)
            except ToolmarkError as error:  # it is raised where it was asked for
                made = False, error
            except Exception as error:  # a fault of ours: its trace is printed at the end of this
                if step := plugin.blame(error) if isinstance(error, ModuleNotFoundError) else "":
                    pipe.send((False, UsageError(f"{error}; next: {step}")))
                    continue
                pipe.send((False, _fault(item, error)))
                raise
            pipe.send(made)


class _Fault(DataError):
    """A fault of the work itself, after which its process ends."""


def _fault(item: object, error: Exception) -> _Fault:
    told = f"{type(error).__name__}: {error}"[:_SHOWN]
    return _Fault(f"the work on {_shown(item)} failed: {told}; its trace is above")


def _shown(item: object) -> str:
    text = repr(item)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _ending(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}; what it said is above"
    names = {int(known): known.name for known in signal.Signals}
    return (
        f"was ended by {names.get(-code, f'signal {-code}')}; was memory short? Run it again: what "
        "is made is kept"
    )
