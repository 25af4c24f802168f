"""Whether a model answers from the results of its calls: one call, and two in one reply."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.records import Check, Reply, Request
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import probe_requests, state_members
from toolmark.models.probes.probe_requests import TOOL_NAME, TextExplainer, quote_text

_MAX_NUMBERS = 64  # of different results
_TEMPLATE_STEP = "does the server's chat template show the model the results of its tools?"


class ResultStep(NamedTuple):
    """The second step of a conversation: the request with results, and the reply, if any."""

    check: Check
    request: Request
    reply: Reply | None = None


async def probe_results(
    name: str,
    model: EndpointModel,
    request: Request,
    reply: Reply,
    rng: Random,
    explain_text: TextExplainer | None = None,
) -> ResultStep:
    """Send the result of each call of a reply, and see whether the answer repeats what they say.

    Each result has a number that no model can know.
    """
    pool = rng.sample(range(23, 98), _MAX_NUMBERS)
    numbers = [pool[index % _MAX_NUMBERS] for index in range(len(reply.calls))]
    results = [f"clear sky, humidity {number} %" for number in numbers]
    following = probe_requests.add_results(request, reply, results)
    try:
        answer = await model(following)
    except Rejected as error:
        return ResultStep(_explain_refusal(name, error, reply), following)
    except EndpointError as error:
        return ResultStep(probe_requests.fail_check(name, error), following)
    check = _check_answer(name, answer, numbers, explain_text)
    return ResultStep(check, following, answer)


def _check_answer(
    name: str, answer: Reply, numbers: Sequence[int], explain_text: TextExplainer | None
) -> Check:
    what = "result" if len(numbers) == 1 else f"{len(numbers)} results"
    if answer.calls:
        detail = f"with the {what} at hand it called {answer.calls[0].name} again"
        return Check(name=name, status="warn", detail=detail, next_step=_TEMPLATE_STEP)
    if explain_text and (explained := explain_text(answer, TOOL_NAME)):
        found, step = explained
        return Check(name=name, status="warn", detail=f"after the {what} {found}", next_step=step)
    missing = [number for number in numbers if str(number) not in answer.text]
    if not missing:
        ending = "call, result, answer" if len(numbers) == 1 else f"{what} in one step, answered"
        return Check(name=name, status="ok", detail=ending)
    said = quote_text(answer.text)
    if len(missing) == len(numbers):
        detail = f"answered without the {what}: {said}"
    else:
        detail = f"answered with {len(numbers) - len(missing)} of the {what}: {said}"
    return Check(name=name, status="warn", detail=detail, next_step=_TEMPLATE_STEP)


def _explain_refusal(name: str, error: Rejected, reply: Reply) -> Check:
    """Return the check of a second step that was refused, with the member that was missed."""
    complaint = probe_requests.endpoint_complaint(error)
    missed = state_members.missed_member(complaint)
    if not missed:
        return probe_requests.fail_check(name, error)
    if any(missed in each or each in missed for each in state_members.carried_members(reply)):
        step = (
            f"toolmark sent {missed} back as it came: ask the provider without the proxy or router "
            "in between, which drops it; if there is none, report it with the address and the model"
        )
    else:
        step = (
            f"the first reply came without {missed}: a proxy or router in between drops it; ask "
            "the provider directly"
        )
    detail = f"dropped {missed}: the endpoint refuses the second request: {complaint}"
    return Check(name=name, status="fail", detail=detail, next_step=step)
