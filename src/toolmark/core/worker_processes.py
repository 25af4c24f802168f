"""Work spread over processes that do not run the main script.

Child processes of `multiprocessing` run the main script again, so that a script which calls
toolmark without a guard would start itself again. Forks of a process with threads may hang. These
children import toolmark, the modules that the work names, and nothing else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from toolmark.core import user_modules
from toolmark.core.errors import DataError, ToolmarkError, UsageError

T = TypeVar("T")
R = TypeVar("R")

_ITEMS_AHEAD = 3  # per process: none waits for the slowest, and few are in memory
_WAIT_S = 5.0
_MAX_SHOWN_CHARS = 100  # of an item and of an error
_CHILD_PROGRAM = (
    "import sys; from multiprocessing.connection import Connection; "
    "pipe = Connection(int(sys.argv[1])); sys.path[:] = pipe.recv(); "
    f"from {__name__} import process_items; process_items(pipe)"
)


def map_in_processes(
    work: Callable[[T], R], items: Iterable[T], n_processes: int, *, min_parallel: int = 0
) -> Iterator[R]:
    """Yield the results of the work on the items, in their order, from n processes.

    Fewer items than `min_parallel` are processed in this process, because starting others costs
    more. So are all items if n is 1; with 0 none are.

    The work, the items and the results must be picklable, and the work must not use anything of the
    main script. ToolmarkErrors of the work are raised here. DataError reports any other error with
    its item, and a process that died with how it died.
    """
    items = iter(items)
    head = list(islice(items, min_parallel))
    items = chain(head, items)
    if min_parallel and (n_processes == 1 or len(head) < min_parallel):
        for item in items:
            yield work(item)
    else:
        yield from _map_parallel(work, items, n_processes)


def _map_parallel(work: Callable[[T], R], items: Iterable[T], n_processes: int) -> Iterator[R]:
    with ExitStack() as stack:
        idle: SimpleQueue[_WorkerProcess[T, R]] = SimpleQueue()
        for _ in range(n_processes):
            idle.put(stack.enter_context(_WorkerProcess(work)))
        threads = ThreadPoolExecutor(n_processes, thread_name_prefix="workers")
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)

        def run_item(item: T) -> R:
            child = idle.get()
            try:
                return child.run_item(item)
            finally:
                idle.put(child)

        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(threads.submit(run_item, item))
            if len(waiting) > _ITEMS_AHEAD * n_processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def available_cores() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class _WorkerProcess(Generic[T, R]):
    """A process that does the work, one item at a time."""

    def __init__(self, work: Callable[[T], R]) -> None:
        self._pipe, child_pipe = Pipe()
        with child_pipe:
            self._process = subprocess.Popen(
                # without -P the current folder would come before the library
                [sys.executable, "-P", "-c", _CHILD_PROGRAM, str(child_pipe.fileno())],
                pass_fds=(child_pipe.fileno(),),
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C reaches only the parent, which ends this process
            )
        self._pipe.send(sys.path)
        self._pipe.send(work)

    def run_item(self, item: T) -> R:
        try:
            self._pipe.send(item)
            succeeded, result = self._pipe.recv()
        except (EOFError, OSError):
            code = self._process.wait(_WAIT_S)
            raise DataError(
                f"a process that worked on {_abbreviated_repr(item)} {_describe_exit(code)}"
            ) from None
        if not succeeded:
            if isinstance(result, _WorkError):
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_WAIT_S)  # it prints its traceback and ends
            raise result
        return result  # type: ignore[no-any-return]

    def __enter__(self) -> _WorkerProcess[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe.close()


def process_items(pipe: Connection[Any, Any]) -> None:
    """Process the items from the pipe until it closes; runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    with suppress(EOFError, OSError):
        work = pipe.recv()
        while True:
            item = pipe.recv()
            try:
                outcome = True, work(item)
            except ToolmarkError as error:  # raised in the parent
                outcome = False, error
            except Exception as error:  # a fault of toolmark: this process prints its traceback
                if (
                    command := user_modules.error_install_command(error)
                    if isinstance(error, ModuleNotFoundError)
                    else ""
                ):
                    pipe.send((False, UsageError(f"{error}; next: {command}")))
                    continue
                pipe.send((False, _make_work_error(item, error)))
                raise
            pipe.send(outcome)


class _WorkError(DataError):
    """A fault of the work itself, after which its process ends."""


def _make_work_error(item: object, error: Exception) -> _WorkError:
    description = f"{type(error).__name__}: {error}"[:_MAX_SHOWN_CHARS]
    return _WorkError(
        f"the work on {_abbreviated_repr(item)} failed: {description}; its trace is above"
    )


def _abbreviated_repr(item: object) -> str:
    text = repr(item)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}; what it said is above"
    names = {int(known): known.name for known in signal.Signals}
    return (
        f"was ended by {names.get(-code, f'signal {-code}')}; was memory short? Run it again: what "
        "is made is stored"
    )
