"""What lies on a drawn table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    pass


class TabletopScene(NamedTuple):
    """For each thing the place that it is in or next to, "" for neither.

    A place with a "~" before it is one that the thing is next to.
    """

    things: tuple[str, ...]
    places: tuple[str, ...]
    lies: tuple[str, ...]
