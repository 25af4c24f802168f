"""Records of what a run spends beyond the replies that its episodes and judgements record.

They stand apart from what counts them (`run_spending`), which loads the client.
"""

from __future__ import annotations

from toolmark.core.records import Record, Usage
from toolmark.core.token_counts import sum_usage


class OtherRequests(Record, frozen=True, kw_only=True):
    """Requests of one purpose that belong to no episode, as they were answered.

    `usd` is what is known of their cost in US$; of `n_unknown` of the `n_replies` it is not.
    """

    n_replies: int = 0
    usage: Usage = Usage()
    usd: float = 0.0
    n_unknown: int = 0

    def __add__(self, other: OtherRequests) -> OtherRequests:
        """Return both together."""
        return OtherRequests(
            n_replies=self.n_replies + other.n_replies,
            usage=sum_usage((self.usage, other.usage)),
            usd=round(self.usd + other.usd, 12),
            n_unknown=self.n_unknown + other.n_unknown,
        )


class Unrecorded(Record, frozen=True, kw_only=True):
    """What no episode and no judgement records.

    - `n_unanswered`: requests that were sent and have no usable answer, and may have been charged.
    - `unanswered_usd`: what `--max-cost` counts for requests whose cost is not known: their worst
      case, in US$.
    - `others`: requests that belong to no episode, by purpose.
    """

    n_unanswered: int = 0
    unanswered_usd: float = 0.0
    others: dict[str, OtherRequests] = {}

    def __add__(self, other: Unrecorded) -> Unrecorded:
        """Return both together."""
        others = dict(self.others)
        for name, found in other.others.items():
            others[name] = others.get(name, OtherRequests()) + found
        return Unrecorded(
            n_unanswered=self.n_unanswered + other.n_unanswered,
            unanswered_usd=round(self.unanswered_usd + other.unanswered_usd, 9),
            others=others,
        )
