"""How a page and a terminal call runs: by the least that tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.report.tables import visible
from toolmark.runs.store import Run


def short(model: str) -> str:
    """Return what stands after the '#' of an address, the whole of any other model's name."""
    address, _, name = model.partition("#")
    return name if name and address.startswith(("http://", "https://")) else model


def host(model: str) -> str:
    """Return the host and port of an address, nothing for any other model's name."""
    scheme, sign, rest = model.partition("://")
    return rest.partition("#")[0].partition("/")[0] if sign and scheme.startswith("http") else ""


def tell(runs: Sequence[Run]) -> list[str]:
    """Name each run by its model; by host, dialect and suite too where those differ, else folder.

    A folder's name is whole: nothing shorter was found to tell it from the others.
    """
    plans = [run.info.plan for run in runs]
    models = [short(plan.model) for plan in plans]
    hosts = [host(plan.model) for plan in plans]
    for columns in (
        [models],
        [models, hosts],
        [models, [plan.dialect for plan in plans]],
        [models, hosts, [plan.suite for plan in plans], [plan.dialect for plan in plans]],
    ):
        told = [" · ".join(filter(None, row)) for row in zip(*columns, strict=True)]
        if len(set(told)) == len(told):
            return [visible(name) for name in told]
    return [visible(run.path.name) for run in runs]


def failure(native: str, natives: Mapping[str, str]) -> str:
    """Return a suite's own class of failure, with the suite's words for it where it has some."""
    return visible(" ".join(filter(None, (native, natives.get(native, "")))))


def sampled(n: int | None) -> str:
    """Say how a sample of n was drawn; nothing where all tasks were asked."""
    return f"a sample of {n}, every category in proportion" if n else ""
