"""What to do about episodes that were not run: a table by kind of failure (`failures.toml`)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from toolmark.failure import Failure, Kind, Subject
from toolmark.models import places
from toolmark.report.tables import plural
from toolmark.runs.lifecycle import finishing_command
from toolmark.runs.plan import Plan
from toolmark.runs.store import Run

TABLE = Path(__file__).with_name("failures.toml")
AGAIN = "give the same command again to run what is missing"


class Advised(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A step, and for which failures it is; what is not given fits any (`failures.toml`)."""

    next: str
    again: bool
    subject: Subject | None = None
    answered: bool | None = None
    knob: str = ""
    set: bool = False

    def fits(self, failure: Failure, plan: Plan) -> bool:
        """Tell whether it is for this failure in such a run."""
        return (
            self.subject in (None, failure.subject)
            and self.answered in (None, failure.status > 0)
            and (not self.knob or self.knob in plan.knobs)
            and (not self.set or bool(plan.tasks))
        )


class About(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of one kind."""

    means: str
    retried: str
    todo: str
    steps: tuple[Advised, ...] = ()
    follows: bool = False


_LATER = Advised(next="", again=True)


@cache
def table() -> Mapping[Kind, About]:
    """Return the table, in the order of the kinds."""
    found = msgspec.toml.decode(TABLE.read_bytes(), type=dict[Kind, About])
    return {kind: found[kind] for kind in get_args(Kind)}


def steps(run: Run, failures: Iterable[Failure], n_unreached: int = 0) -> Iterator[str]:
    """Go through the next steps for episodes that failed so, and those that were never begun."""
    plan = run.info.plan
    known = table()
    counts: Counter[Advised] = Counter()
    n_others = 0
    for failure in failures:
        if known[failure.kind].follows:
            n_others += 1
        else:
            counts[step(failure, plan)] += 1
    for advised, n in counts.items():
        if advised.next:
            yield f"next: {advised.next.format(**_names(run, n))}"
    if n_unreached or any(advised.again for advised in counts) or (n_others and not counts):
        yield f"next: {AGAIN}"


def step(failure: Failure, plan: Plan) -> Advised:
    """Return what to do about a failure of a run."""
    return next((each for each in table()[failure.kind].steps if each.fits(failure, plan)), _LATER)


def _names(run: Run, n: int) -> dict[str, Any]:
    plan = run.info.plan
    return {
        "probe": f"toolmark doctor -m {shlex.quote(plan.model)}{_behind(plan)}",
        "episodes": plural(n, "episode"),
        "finish": finishing_command(run.path, plan.spec),
    }


def _behind(plan: Plan) -> str:
    """Return the flag that names the address of a provider's model that is asked elsewhere."""
    provider = places.PROVIDERS.get(plan.model.partition("/")[0])
    if provider is None or plan.base_url in ("", provider.url):
        return ""
    return f" --base-url {shlex.quote(plan.base_url)}"
