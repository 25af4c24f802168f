"""What to do about episodes that were not run: a table by kind of failure (`failures.toml`)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, get_args

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.core.failure import Failure, Kind, Subject
from toolmark.core.number_format import pluralize
from toolmark.models import provider_table
from toolmark.runs.run_lifecycle import finishing_command
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run

RERUN_ADVICE = "give the same command again to run what is missing"


class AdviceStep(DataRecord, frozen=True, kw_only=True):
    """A step, and for which failures it is; what is not given fits any (`failures.toml`)."""

    text: Annotated[str, Meta(pattern=placeholders("probe", "episodes", "finish"))]
    if_repeated: bool
    subject: Subject | None = None
    if_answered: bool | None = None
    if_endpoint: bool = False
    if_parameter: str = ""
    if_set: bool = False

    def applies_to(self, failure: Failure, plan: Plan) -> bool:
        """Tell whether it is for this failure in such a run."""
        return (
            self.subject in (None, failure.subject)
            and self.if_answered in (None, failure.status > 0)
            and (not self.if_endpoint or bool(plan.base_url))
            and (not self.if_parameter or self.if_parameter in plan.parameters)
            and (not self.if_set or bool(plan.tasks))
        )


class KindAdvice(DataRecord, frozen=True, kw_only=True):
    """What is known of one kind."""

    meaning: str
    retry_text: str
    summary: str
    steps: tuple[AdviceStep, ...] = ()
    is_consequence: bool = False


_DEFAULT_STEP = AdviceStep(text="", if_repeated=True)


@cache
def advice_table() -> Mapping[Kind, KindAdvice]:
    """Return the table, in the order of the kinds."""
    found = read_table(__file__, "failures.toml", dict[Kind, KindAdvice])
    return {kind: found[kind] for kind in get_args(Kind)}


def next_steps(run: Run, failures: Iterable[Failure], n_unreached: int = 0) -> Iterator[str]:
    """Go through the next steps for episodes that failed so, and those that were never begun."""
    plan = run.info.plan
    advice_by_kind = advice_table()
    counts: Counter[AdviceStep] = Counter()
    n_dependent = 0
    for failure in failures:
        if advice_by_kind[failure.kind].is_consequence:
            n_dependent += 1
        else:
            counts[find_step(failure, plan)] += 1
    for advice_step, n in counts.items():
        if advice_step.text:
            yield f"next: {advice_step.text.format(**_placeholders(run, n))}"
    if (
        n_unreached
        or any(advice_step.if_repeated for advice_step in counts)
        or (n_dependent and not counts)
    ):
        yield f"next: {RERUN_ADVICE}"


def find_step(failure: Failure, plan: Plan) -> AdviceStep:
    """Return what to do about a failure of a run."""
    return next(
        (each for each in advice_table()[failure.kind].steps if each.applies_to(failure, plan)),
        _DEFAULT_STEP,
    )


def _placeholders(run: Run, n: int) -> dict[str, Any]:
    plan = run.info.plan
    return {
        "probe": f"toolmark doctor -m {shlex.quote(plan.model)}{_base_url_flag(plan)}",
        "episodes": pluralize(n, "episode"),
        "finish": finishing_command(run.path, plan.spec),
    }


def _base_url_flag(plan: Plan) -> str:
    """Return the flag that names the address of a provider's model that is asked elsewhere."""
    provider = provider_table.providers().get(plan.model.partition("/")[0])
    if provider is None or plan.base_url in ("", provider.url):
        return ""
    return f" --base-url {shlex.quote(plan.base_url)}"
