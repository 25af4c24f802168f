"""As `killed_process`, with batches that are looked at often.

Start it by `python -m tests.runs.killed_batches`.
"""

from __future__ import annotations

from tests.runs import killed_process

from toolmark.models.batches import batched_endpoint
from toolmark.models.batches.batch_worker import BatchTiming

if __name__ == "__main__":
    batched_endpoint.DEFAULT_TIMING = BatchTiming(
        settle_s=0.05, first_pause_s=0.02, longest_pause_s=0.05, search_s=0.05
    )
    killed_process.main()
