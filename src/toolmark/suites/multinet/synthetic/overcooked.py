"""Synthetic Overcooked: games of two scripted cooks, for use without the published data.

The layouts, the cooks and the drawing are our own; rows, fields and actions are as in real games.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolmark.suites.multinet.frame_records import Frame
from toolmark.suites.multinet.overcooked import kitchen_state
from toolmark.suites.multinet.overcooked.overcooked_rows import (
    AnswerMode,
    answer_space,
    check_options,
    history_field,
    status_fields,
)
from toolmark.suites.multinet.synthetic.kitchen_simulation import (
    LAYOUTS,
    N_GAME_STEPS,
    KitchenStep,
    play_game,
)
from toolmark.suites.multinet.synthetic.synthetic_rows import Split, SyntheticRows

if TYPE_CHECKING:
    from PIL import Image


class SyntheticOvercooked(SyntheticRows, frozen=True, kw_only=True):
    """Rows of one split: the steps of games, the layouts in turn."""

    family = "overcooked"
    limitation = (
        "games of scripted players in kitchens of our own, drawn without the game's sprites"
    )

    mode: AnswerMode = "action"
    history: int = 0
    shown: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self.mode, self.history, self.shown)

    def build_frame(self, number: int) -> Frame:
        """Return one row."""
        at, n = divmod(number, N_GAME_STEPS)
        steps, layout = self.game_steps(at), self.layout_of_game(at)
        step = steps[n]
        fields = {
            **status_fields(layout, step),
            "grid": "\n" + kitchen_state.draw_text_plan(LAYOUTS[layout], step.state),
            "state": "\n" + kitchen_state.describe_state(LAYOUTS[layout], step.state),
            **history_field(steps, n, self.history),
        }
        return Frame(
            id=self.row_id(number),
            family=self.family,
            source="synthetic",
            space=answer_space(self.mode),
            truth=step.joint,
            group=self.game_id(at),
            step=n,
            fields=fields,
            slices={"layout": layout},
        )

    def game_id(self, game: int) -> str:
        """Return the id of a game."""
        return f"{self.id_prefix}-game-{game:04}"

    def layout_of_game(self, game: int) -> str:
        """Return the layout of a game."""
        return tuple(LAYOUTS)[game % len(LAYOUTS)]

    def game_steps(self, number: int) -> tuple[KitchenStep, ...]:
        """Return a game's steps."""
        return play_game(self.seed, self.game_id(number), self.layout_of_game(number))

    def draw_pictures(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the kitchen up to a row's step, oldest first."""
        from toolmark.suites.multinet.synthetic import kitchen_drawing

        at, n = divmod(number, N_GAME_STEPS)
        grid = LAYOUTS[self.layout_of_game(at)]
        steps = self.game_steps(at)[max(0, n + 1 - self.shown) : n + 1]
        return tuple(
            kitchen_drawing.draw_kitchen(grid, step.state, step.left_s, step.score)
            for step in steps
        )


def rows(
    *,
    n: int,
    split: Split,
    seed: int,
    mode: AnswerMode = "action",
    history: int = 0,
    pictures: int = 1,
) -> SyntheticOvercooked:
    """Return the first n steps of a split, game by game.

    `history`: the model sees that many joint actions before the step. `pictures`: that many frames
    are shown. Raises UsageError for what cannot be asked.
    """
    return SyntheticOvercooked(
        n=n, split=split, seed=seed, mode=mode, history=history, shown=pictures
    )
