"""Synthetic Open-X: robots of five shapes with known dynamics, seen before each action."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.suites.multinet.frame_records import ActionVector, Frame
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES
from toolmark.suites.multinet.openx.robot_episodes import format_history
from toolmark.suites.multinet.synthetic.robot_simulation import (
    N_DECIMALS,
    N_EPISODE_STEPS,
    SIMULATORS,
    SimulatedEpisode,
)
from toolmark.suites.multinet.synthetic.synthetic_rows import Split, SyntheticRows

if TYPE_CHECKING:
    from PIL import Image

N_STATISTICS_EPISODES = 25
"""The number of training episodes that the statistics of the actions come from."""


class SyntheticOpenx(SyntheticRows, frozen=True, kw_only=True):
    """Rows of one split: `N_EPISODE_STEPS` steps for each episode."""

    family = "openx"
    limitation = (
        "simulated robots, controllers and noise of our own; statistics of their training split"
    )

    morphology: str
    history: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.morphology not in SIMULATORS:
            raise UsageError(
                f"no morphology {self.morphology!r}{suggest_names(self.morphology, SIMULATORS)}"
            )
        if self.history < 0:
            raise UsageError("history is at least 0")

    @property
    def id_prefix(self) -> str:
        """The start of all ids; it contains the morphology."""
        return f"{self.family}-synthetic-{self.morphology}-{self.split}"

    def build_frame(self, number: int) -> Frame:
        """Return one row."""
        at, step = divmod(number, N_EPISODE_STEPS)
        episode = self.simulate_episode(at)
        fields = {
            "instruction": episode.instruction,
            "environment": MORPHOLOGIES[self.morphology].environment,
        }
        if self.history:
            fields["history"] = format_history(episode.actions, step, self.history)
        return Frame(
            id=self.row_id(number),
            family=self.family,
            source="synthetic",
            space=_action_space(self.seed, self.morphology),
            truth=episode.actions[step],
            group=self.episode_id(at),
            step=step,
            fields=fields,
            slices={"morphology": self.morphology},
        )

    def episode_id(self, episode: int) -> str:
        """Return the id of an episode."""
        return f"{self.id_prefix}-episode-{episode:05}"

    def simulate_episode(self, number: int) -> SimulatedEpisode:
        """Return one episode of this split."""
        return _simulate_episode(self.seed, self.morphology, self.episode_id(number))

    def draw_pictures(self, number: int) -> tuple[Image.Image, ...]:
        """Draw what the robot's camera sees before the action."""
        from toolmark.suites.multinet.synthetic import robot_drawing

        at, step = divmod(number, N_EPISODE_STEPS)
        return (robot_drawing.draw_robot(self.morphology, self.simulate_episode(at), step),)


@lru_cache(maxsize=256)
def _simulate_episode(seed: int, morphology: str, id: str) -> SimulatedEpisode:
    return SIMULATORS[morphology](seeds.make_rng(seed, id, 0, "multinet openx"))


@lru_cache(maxsize=32)
def _action_space(seed: int, morphology: str) -> ActionVector:
    """Return the space of actions, with statistics of the training split's first episodes."""
    train = SyntheticOpenx(
        n=N_STATISTICS_EPISODES * N_EPISODE_STEPS, split="train", seed=seed, morphology=morphology
    )
    actions = [
        action for k in range(N_STATISTICS_EPISODES) for action in train.simulate_episode(k).actions
    ]
    columns = list(zip(*actions, strict=True))
    shape = MORPHOLOGIES[morphology]
    return ActionVector(
        names=shape.names,
        low=tuple(min(column) for column in columns),
        high=tuple(max(column) for column in columns),
        mean=tuple(round(sum(column) / len(column), N_DECIMALS) for column in columns),
        slices=shape.slices,
    )


def rows(*, n: int, split: Split, seed: int, morphology: str, history: int = 0) -> SyntheticOpenx:
    """Return the first n steps of a split, episode by episode.

    `history`: the model sees that many actions before the step. Raises UsageError for an unknown
    morphology.
    """
    return SyntheticOpenx(n=n, split=split, seed=seed, morphology=morphology, history=history)
