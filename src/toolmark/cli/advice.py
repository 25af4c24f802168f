"""What to do about episodes that were not run: some will pass if they are asked again, not all."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from toolmark.models import places
from toolmark.runs.plan import Plan
from toolmark.runs.store import Run
from toolmark.types import Attempt

Kind: TypeAlias = Literal["blind", "refused", "away", "faulty", "later"]

_REFUSED = re.compile(r"(?:^|: )4(?!08|09|25|29)\d\d: ")  # those come back as Unavailable, or wait
_PICTURE = re.compile(r"\bimages?\b|image_url|\bpictures?\b|multi-?modal|\bvision\b", re.IGNORECASE)
_AWAY = "cannot be reached"


def steps(run: Run, left: Sequence[Attempt], n_lost: int = 0) -> Iterator[str]:
    """Go through the next steps for the episodes that are left.

    `n_lost` of these are of tasks that could not be made: they are told elsewhere.
    """
    plan = run.info.plan
    kinds = Counter(kind(each, plan) for each in left)
    probe = f"toolmark doctor -m {shlex.quote(plan.model)}{_behind(plan)}"
    if kinds["blind"]:
        words = "-T pictures=no asks in words alone; " if "pictures" in plan.knobs else ""
        yield f"next: the endpoint refuses the pictures: {words}{probe} tells what it takes"
    if kinds["refused"]:
        yield f"next: mend that, since it would be refused again; {probe} tells what is taken"
    if kinds["away"]:
        yield f"next: {probe}  (is the server up?), then give the same command again"
    if kinds["faulty"]:
        yield "next: mend your model's code, then give the same command again"
    n_told = kinds.total() - kinds["later"]
    if len(run.done()) + n_told + n_lost < run.info.n_episodes:
        yield "next: give the same command again to run what is missing"


def kind(attempt: Attempt, plan: Plan) -> Kind:
    """Return what kind of failure kept an episode from being run; "later" may pass by itself."""
    if attempt.stage not in ("model", "stopped"):
        return "later"
    first, _, trace = attempt.reason.partition("\n")
    if _REFUSED.search(first):
        return "blind" if _PICTURE.search(first) else "refused"
    if _AWAY in first:
        return "away"
    return "faulty" if trace and _own(plan) else "later"


def _own(plan: Plan) -> bool:
    return not plan.base_url and not plan.model.startswith(("baseline/", "test/"))


def _behind(plan: Plan) -> str:
    """Return the flag that names the address of a provider's model that is asked elsewhere."""
    provider = places.PROVIDERS.get(plan.model.partition("/")[0])
    if provider is None or plan.base_url in ("", provider.url):
        return ""
    return f" --base-url {shlex.quote(plan.base_url)}"
