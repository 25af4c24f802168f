"""Synthetic PIQA: a goal and two ways to reach it, one of which fails for a physical reason.

Rows come in pairs: the same two solutions in the same order, for a goal that needs a property and
for one that forbids it. So neither the position, nor the length, nor any word of a solution reveals
the answer, and both solutions are correct equally often.
"""

from __future__ import annotations

from functools import lru_cache

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.suites.multinet.frame_records import Choice, Frame
from toolmark.suites.multinet.synthetic.physical_contrasts import (
    contrast_table,
    physical_contrasts,
)
from toolmark.suites.multinet.synthetic.synthetic_rows import Split, SyntheticRows


class SyntheticPiqa(SyntheticRows, frozen=True, kw_only=True):
    """Rows of one split."""

    family = "piqa"

    @property
    def limitation(self) -> str:
        """What the synthetic data show."""
        n = len(physical_contrasts())
        return f"{n} physical properties, two solutions that differ in one thing"

    def __post_init__(self) -> None:
        super().__post_init__()
        n_pairs = len(_thing_pairs(self.seed, 0, self.split))
        max_rows = 2 * len(physical_contrasts()) * n_pairs * _count_wordings(0)
        if self.n > max_rows:
            raise UsageError(f"piqa: the generator has {max_rows} rows of a split, not {self.n}")

    def build_frame(self, number: int) -> Frame:
        """Return one row: rows 2k and 2k + 1 are a pair."""
        pair, forbidden = divmod(number, 2)
        contrasts = physical_contrasts()
        lap, kind = divmod(pair, len(contrasts))
        contrast = contrasts[kind]
        things = _thing_pairs(self.seed, kind, self.split)
        round, at = divmod(lap, len(things))
        rng = self.make_rng("pair", lap % len(things) * len(contrasts) + kind)
        template, solution = divmod(
            (seeds.draw_below(rng, _count_wordings(kind)) + round) % _count_wordings(kind), 2
        )
        thing_with, thing_without = things[at]
        first = seeds.draw_below(rng, 2)  # the position of the thing that has the property
        things_in_order = (thing_without, thing_with) if first else (thing_with, thing_without)
        goal = contrast.opposite_goal if forbidden else contrast.goal
        return Frame(
            id=self.row_id(number),
            family=self.family,
            source="synthetic",
            space=Choice(
                options=tuple(
                    contrast.solution_templates[solution].format(x=x) for x in things_in_order
                )
            ),
            truth=first ^ forbidden,
            group=f"{self.id_prefix}-pair-{kind}-{at}",
            fields={"goal": contrast_table().question_templates[template].format(goal=goal)},
        )


def _count_wordings(kind: int) -> int:
    table = contrast_table()
    return len(table.question_templates) * len(table.contrasts[kind].solution_templates)


@lru_cache(maxsize=256)
def _thing_pairs(seed: int, kind: int, split: Split) -> list[tuple[str, str]]:
    """Return the pairs of things of a contrast that belong to a split, which is half of all."""
    contrast = physical_contrasts()[kind]
    pairs = [(a, b) for a in contrast.things_with for b in contrast.things_without]
    seeds.shuffle_items(seeds.make_rng(seed, contrast.name, 0, "multinet piqa things"), pairs)
    half = len(pairs) // 2
    return pairs[:half] if split == "test" else pairs[half : 2 * half]


def rows(*, n: int, split: Split, seed: int) -> SyntheticPiqa:
    """Return the first n rows of a split. Raises UsageError if n is more than can be made."""
    return SyntheticPiqa(n=n, split=split, seed=seed)
