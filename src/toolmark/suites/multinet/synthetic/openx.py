"""Stand-in for Open-X: robots of five shapes with known dynamics, seen before each action."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.suites.multinet.frame import Frame, Motion
from toolmark.suites.multinet.openx.episode import before
from toolmark.suites.multinet.openx.morphology import MORPHOLOGIES
from toolmark.suites.multinet.synthetic.motion import DIGITS, EPISODES, LENGTH, Episode
from toolmark.suites.multinet.synthetic.stand import Split, Stand

if TYPE_CHECKING:
    from PIL import Image

LEARNED = 25
"""Training episodes from which the statistics of the actions are."""


class Openx(Stand, frozen=True, kw_only=True):
    """Rows of one split: `LENGTH` steps for an episode."""

    family = "openx"
    limit = "simulated robots, controllers and noise of our own; statistics of their training split"

    morphology: str
    history: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.morphology not in EPISODES:
            raise UsageError(f"no morphology {self.morphology!r}{near(self.morphology, EPISODES)}")
        if self.history < 0:
            raise UsageError("history is at least 0")

    @property
    def stem(self) -> str:
        """What the ids begin with: the morphology is one of its parts."""
        return f"{self.family}-synthetic-{self.morphology}-{self.split}"

    def frame(self, number: int) -> Frame:
        """Return one row."""
        at, step = divmod(number, LENGTH)
        episode = self.episode(at)
        fields = {
            "instruction": episode.instruction,
            "environment": MORPHOLOGIES[self.morphology].environment,
        }
        if self.history:
            fields["history"] = before(episode.actions, step, self.history)
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=_space(self.seed, self.morphology),
            truth=episode.actions[step],
            group=self.group(at),
            step=step,
            fields=fields,
            slices={"morphology": self.morphology},
        )

    def group(self, episode: int) -> str:
        """Return the id of an episode."""
        return f"{self.stem}-episode-{episode:05}"

    def episode(self, number: int) -> Episode:
        """Return an episode of this split."""
        return _episode(self.seed, self.morphology, self.group(number))

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw what the robot's camera sees before the action."""
        from toolmark.suites.multinet.synthetic import robots

        at, step = divmod(number, LENGTH)
        return (robots.drawn(self.morphology, self.episode(at), step),)


@lru_cache(maxsize=256)
def _episode(seed: int, morphology: str, id: str) -> Episode:
    return EPISODES[morphology](seeds.of(seed, id, 0, "multinet openx"))


@lru_cache(maxsize=32)
def _space(seed: int, morphology: str) -> Motion:
    """Return the space of actions, with the statistics of the training split's first episodes."""
    train = Openx(n=LEARNED * LENGTH, split="train", seed=seed, morphology=morphology)
    actions = [action for k in range(LEARNED) for action in train.episode(k).actions]
    columns = list(zip(*actions, strict=True))
    shape = MORPHOLOGIES[morphology]
    return Motion(
        names=shape.names,
        low=tuple(min(column) for column in columns),
        high=tuple(max(column) for column in columns),
        mean=tuple(round(sum(column) / len(column), DIGITS) for column in columns),
        slices=shape.slices,
    )


def rows(*, n: int, split: Split, seed: int, morphology: str, history: int = 0) -> Openx:
    """Return the first n steps of a split, episode by episode.

    `history`: that many actions before the step are told. Raises UsageError for a morphology that
    there is not.
    """
    return Openx(n=n, split=split, seed=seed, morphology=morphology, history=history)
