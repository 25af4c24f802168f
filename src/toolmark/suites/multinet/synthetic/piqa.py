"""Stand-in for PIQA: a goal and two ways to it, one of which fails for a physical reason.

Rows come in pairs: the same two solutions in the same order, for a goal that needs a property and
for one that forbids it. So neither the place, nor the length, nor any word of a solution tells the
answer, and none of the two solutions is right more often than the other.
"""

from __future__ import annotations

from functools import lru_cache

from toolmark import seeds
from toolmark.errors import UsageError
from toolmark.suites.multinet.frame import Choice, Frame
from toolmark.suites.multinet.synthetic.matter import CONTRASTS
from toolmark.suites.multinet.synthetic.stand import Split, Stand

ASKED = ("How do I {goal}?", "I want to {goal}.", "To {goal}:", "What helps to {goal}?")


class Piqa(Stand, frozen=True, kw_only=True):
    """Rows of one split."""

    family = "piqa"
    limit = f"{len(CONTRASTS)} physical properties, two solutions that differ in one thing"

    def __post_init__(self) -> None:
        super().__post_init__()
        most = 2 * len(CONTRASTS) * len(_things(self.seed, 0, self.split)) * _wordings(0)
        if self.n > most:
            raise UsageError(f"piqa: the generator has {most} rows of a split, not {self.n}")

    def frame(self, number: int) -> Frame:
        """Return one row: rows 2k and 2k + 1 are a pair."""
        pair, forbidden = divmod(number, 2)
        lap, kind = divmod(pair, len(CONTRASTS))
        contrast = CONTRASTS[kind]
        things = _things(self.seed, kind, self.split)
        round, at = divmod(lap, len(things))
        rng = self.rng("pair", lap % len(things) * len(CONTRASTS) + kind)
        asked, way = divmod((seeds.below(rng, _wordings(kind)) + round) % _wordings(kind), 2)
        having, lacking = things[at]
        first = seeds.below(rng, 2)  # where the thing that has the property stands
        shown = (lacking, having) if first else (having, lacking)
        goal = contrast.forbid if forbidden else contrast.need
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=Choice(options=tuple(contrast.ways[way].format(x=x) for x in shown)),
            truth=first ^ forbidden,
            group=f"{self.stem}-pair-{kind}-{at}",
            fields={"goal": ASKED[asked].format(goal=goal)},
        )


def _wordings(kind: int) -> int:
    return len(ASKED) * len(CONTRASTS[kind].ways)


@lru_cache(maxsize=256)
def _things(seed: int, kind: int, split: Split) -> list[tuple[str, str]]:
    """Return the pairs of things of a contrast that belong to a split: half of all each."""
    contrast = CONTRASTS[kind]
    pairs = [(a, b) for a in contrast.having for b in contrast.lacking]
    seeds.shuffle(seeds.of(seed, contrast.name, 0, "multinet piqa things"), pairs)
    half = len(pairs) // 2
    return pairs[:half] if split == "test" else pairs[half : 2 * half]


def rows(*, n: int, split: Split, seed: int) -> Piqa:
    """Return the first n rows of a split. Raises UsageError for more than can be made."""
    return Piqa(n=n, split=split, seed=seed)
