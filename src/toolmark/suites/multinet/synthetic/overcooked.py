"""Stand-in for Overcooked: games of two scripted cooks, so that all runs where no data can be had.

The layouts, the cooks and the drawing are our own; rows, fields and actions are as of real games.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from toolmark.errors import UsageError
from toolmark.suites.multinet.frame import Choice, Frame, Odds, Space
from toolmark.suites.multinet.overcooked import state
from toolmark.suites.multinet.overcooked.rows import OPTIONS
from toolmark.suites.multinet.synthetic.kitchen import LAYOUTS, LENGTH, Step, game
from toolmark.suites.multinet.synthetic.stand import Split, Stand

if TYPE_CHECKING:
    from PIL import Image

STEP_S = 0.15


class Overcooked(Stand, frozen=True, kw_only=True):
    """Rows of one split: the steps of games, the layouts in turn."""

    family = "overcooked"
    limit = "games of scripted players in kitchens of our own, drawn without the game's sprites"

    mode: Literal["action", "probs"] = "action"
    history: int = 0
    shown: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in ("action", "probs"):
            raise UsageError(f"mode is action or probs, not {self.mode!r}")
        if self.history < 0 or self.shown < 1:
            raise UsageError("history must be at least 0 and pictures at least 1")

    def frame(self, number: int) -> Frame:
        """Return one row."""
        at, n = divmod(number, LENGTH)
        steps, layout = self.game(at), self.layout(at)
        step = steps[n]
        space: Space = (Choice if self.mode == "action" else Odds)(options=OPTIONS)
        fields = {
            "layout": layout,
            "time_left": f"{(LENGTH - n) * STEP_S:.0f} s",
            "time_elapsed": f"{n * STEP_S:.1f} s",
            "score": str(step.score),
            "grid": "\n" + state.plan(LAYOUTS[layout], step.state),
            "state": "\n" + state.told(LAYOUTS[layout], step.state),
        }
        if self.history:
            before = [OPTIONS[each.joint] for each in steps[max(0, n - self.history) : n]]
            told = "\n" + "\n".join(before)
            fields["history"] = told if before else "none, this is the first step"
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=space,
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
        grid, steps = LAYOUTS[self.layout(at)], self.game(at)
        shown = range(max(0, n + 1 - self.shown), n + 1)
        return tuple(
            tiles.drawn(grid, steps[k].state, (LENGTH - k) * STEP_S, steps[k].score) for k in shown
        )


def rows(
    *, n: int, split: Split, seed: int, mode: Literal["action", "probs"] = "action",
    history: int = 0, pictures: int = 1,
) -> Overcooked:  # fmt: skip
    """Return the first n steps of a split, game by game.

    `history`: that many joint actions before the step are told; `pictures`: that many frames are
    shown. Raises UsageError for what cannot be asked.
    """
    return Overcooked(n=n, split=split, seed=seed, mode=mode, history=history, shown=pictures)
