"""The batches of a stored run, as the provider sees them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolmark.core.errors import UsageError
from toolmark.models import endpoint_address
from toolmark.models.batches.batch_ledger import BatchEntry
from toolmark.models.batches.batched_endpoint import BatchedEndpoint
from toolmark.models.model_resolver import make_endpoint_model
from toolmark.models.wire_names import check_wire_name
from toolmark.runs.batches.batch_records import StoredLedger
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run


class BatchFacts(NamedTuple):
    """A batch: its id, "" where it is not known whether it was submitted, and how far it is."""

    batch_id: str
    n_items: int
    state: str
    n_done: int


async def read_batches(
    path: Path,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    cancel: bool = False,
) -> list[BatchFacts]:
    """Return the batches of the run in a folder; with `cancel` those that run are cancelled.

    A batch that only probably is of this run is not cancelled. A key is sent to the provider's own
    address, or to `base_url`: the address in the folder may be anybody's.

    Raises UsageError for a run that was not asked in batches, or whose address has to be given;
    EndpointError where the provider does not answer.
    """
    plan = Run(path).info.plan
    if not plan.batch:
        raise UsageError(f"{path} was not asked in batches (--batch)")
    address, spec = named_address(plan), plan.model
    if address and base_url is None:
        raise UsageError(
            f"this run was asked at {address}, and a key is sent only where you say; next: add "
            f"--base-url {address} if that is right"
        )
    if not endpoint_address.is_provider_spec(spec) and base_url is not None:
        spec, base_url = f"{base_url}#{spec.partition('#')[2]}", None
    ledger = StoredLedger(path)
    model = make_endpoint_model(
        spec, base_url=base_url, headers=headers, wire=check_wire_name(plan.wire),
        batches=ledger,
    )  # fmt: skip
    assert isinstance(model, BatchedEndpoint)
    try:
        entries = [each for each in ledger.list_batches() if each.state != "abandoned"]
        return [await _read_batch(model, each, cancel) for each in entries]
    finally:
        await model.close()


def named_address(plan: Plan) -> str:
    """Return the address that a run was asked at, "" for that of the provider itself."""
    is_provider = endpoint_address.is_provider_spec(plan.model)
    return plan.base_url if is_provider else plan.model.partition("#")[0]


async def _read_batch(model: BatchedEndpoint, entry: BatchEntry, cancel: bool) -> BatchFacts:
    if not entry.batch_id:
        return BatchFacts(
            "", len(entry.items), "perhaps submitted: the run's command looks for it", 0
        )
    status = await model.read_batch(entry.batch_id)
    if entry.is_probable:  # another batch of the account may look the same: it is not cancelled
        state = f"{status.outcome}, probably of this run"
        return BatchFacts(entry.batch_id, len(entry.items), state, status.n_done)
    if cancel and status.outcome == "running":
        await model.cancel_batch(entry.batch_id)
        status = await model.read_batch(entry.batch_id)
    return BatchFacts(entry.batch_id, len(entry.items), status.outcome, status.n_done)
