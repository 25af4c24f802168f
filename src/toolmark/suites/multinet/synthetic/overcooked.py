"""Stand-in for Overcooked: games of two scripted cooks, so that all runs where no data can be had.

The layouts, the cooks and the drawing are our own; rows, fields and actions are as of real games.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolmark.suites.multinet.frame import Frame
from toolmark.suites.multinet.overcooked import state
from toolmark.suites.multinet.overcooked.rows import Mode, above, before, check, space
from toolmark.suites.multinet.synthetic.kitchen import LAYOUTS, LENGTH, Step, game
from toolmark.suites.multinet.synthetic.stand import Split, Stand

if TYPE_CHECKING:
    from PIL import Image


class Overcooked(Stand, frozen=True, kw_only=True):
    """Rows of one split: the steps of games, the layouts in turn."""

    family = "overcooked"
    limit = "games of scripted players in kitchens of our own, drawn without the game's sprites"

    mode: Mode = "action"
    history: int = 0
    shown: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.mode, self.history, self.shown)

    def frame(self, number: int) -> Frame:
        """Return one row."""
        at, n = divmod(number, LENGTH)
        steps, layout = self.game(at), self.layout(at)
        step = steps[n]
        fields = {
            **above(layout, step),
            "grid": "\n" + state.plan(LAYOUTS[layout], step.state),
            "state": "\n" + state.told(LAYOUTS[layout], step.state),
            **before(steps, n, self.history),
        }
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=space(self.mode),
            truth=step.joint,
            group=self.group(at),
            step=n,
            fields=fields,
            slices={"layout": layout},
        )

    def group(self, game: int) -> str:
        """Return the id of a game."""
        return f"{self.stem}-game-{game:04}"

    def layout(self, game: int) -> str:
        """Return the layout of a game."""
        return tuple(LAYOUTS)[game % len(LAYOUTS)]

    def game(self, number: int) -> tuple[Step, ...]:
        """Return a game's steps."""
        return game(self.seed, self.group(number), self.layout(number))

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the kitchen up to a row's step, oldest first."""
        from toolmark.suites.multinet.synthetic import tiles

        at, n = divmod(number, LENGTH)
        grid, shown = LAYOUTS[self.layout(at)], self.game(at)[max(0, n + 1 - self.shown) : n + 1]
        return tuple(tiles.drawn(grid, step.state, step.left_s, step.score) for step in shown)


def rows(
    *, n: int, split: Split, seed: int, mode: Mode = "action", history: int = 0, pictures: int = 1,
) -> Overcooked:  # fmt: skip
    """Return the first n steps of a split, game by game.

    `history`: that many joint actions before the step are told; `pictures`: that many frames are
    shown. Raises UsageError for what cannot be asked.
    """
    return Overcooked(n=n, split=split, seed=seed, mode=mode, history=history, shown=pictures)
