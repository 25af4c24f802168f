"""Asks a judge model until its reply can be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from toolmark.core.errors import EndpointError, failure_of
from toolmark.core.failure import Failure
from toolmark.core.model import Model
from toolmark.core.records import Judgement, Reply, Request, Trajectory
from toolmark.core.token_counts import sum_usage

MAX_ATTEMPTS = 5
T = TypeVar("T")


class JudgeAnswer(NamedTuple, Generic[T]):
    """What a judge answered; `value` is None where no reply could be used, and `reason` says why.

    `replies` are all its replies, the last one is the one that counts. `failure` is why it was not
    asked again, where the endpoint failed after them.
    """

    value: T | None
    reason: str
    replies: tuple[Reply, ...]
    failure: Failure | None = None


async def ask_until_usable(
    model: Model,
    make_request: Callable[[str, int], Request],
    parse: Callable[[Reply], tuple[T | None, str]],
    *,
    repeat: int,
) -> JudgeAnswer[T]:
    """Ask until a reply can be used, at most `MAX_ATTEMPTS` times.

    Raises EndpointError where no reply came at all: what came was paid for, and is recorded.

    `make_request` takes what was wrong with the last reply, "" at first, and the number of the
    request, which differs between attempts: the cache must not return the previous reply.
    """
    replies: list[Reply] = []
    value, reason = None, ""
    while value is None and len(replies) < MAX_ATTEMPTS:
        try:
            reply = await model(make_request(reason, repeat * MAX_ATTEMPTS + len(replies)))
        except EndpointError as error:
            if not replies:
                raise
            return JudgeAnswer(None, reason, tuple(replies), failure_of(error, "judge"))
        replies.append(reply)
        value, reason = parse(reply)
        if reply.stop == "over_long":  # a second request would be as long
            break
    return JudgeAnswer(value, reason, tuple(replies))


def make_judgement(answer: JudgeAnswer[float], kind: str, trajectory: Trajectory) -> Judgement:
    """Return an answer as a judgement without the judge's name."""
    reason, n = answer.reason, len(answer.replies)
    if n > 1:
        reason = f"{n} attempts, the last one: {reason}"
    failure = answer.failure or Failure(stage="judge", kind="judge", message=reason)
    return Judgement(
        task=trajectory.task,
        repeat=trajectory.repeat,
        kind=kind,
        judge="",
        value=answer.value,
        text=answer.replies[-1].text,
        failure=failure if answer.value is None else None,
        usage=sum_usage([reply.usage for reply in answer.replies]),
        served_model=answer.replies[-1].model,
        from_cache=all(reply.from_cache for reply in answer.replies),
    )
