"""Synthetic ODinW: crops of drawn objects, each in one of several sub-sets with their own classes.

The sub-sets are our own; their numbers of classes also occur in the published ones. Three crops at
a time come from one picture: the same background, light and distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from string import ascii_uppercase, digits
from typing import TYPE_CHECKING

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.suites.multinet.frame_records import Choice, Frame
from toolmark.suites.multinet.synthetic.synthetic_rows import Split, SyntheticRows, trailing_number

if TYPE_CHECKING:
    from PIL import Image

N_CROPS_PER_PICTURE = 3
_COLOUR_NAMES = ("red", "blue", "green", "yellow", "black", "white", "orange", "purple")
_SHAPE_NAMES = ("shield", "circle", "square", "diamond", "hexagon", "triangle")
_CHARGE_NAMES = (
    "star",
    "crescent",
    "anchor",
    "tree",
    "wave",
    "mountain",
    "arrow",
    "sun",
    "key",
    "leaf",
    "fish",
    "crown",
    "bolt",
)

CLASSES_BY_SUBSET: Mapping[str, tuple[str, ...]] = {
    "ParkingBays": ("space-empty", "space-occupied"),
    "FaceMasks": ("mask", "no-mask"),
    "BloodSmears": ("red cell", "white cell", "platelet"),
    "SiteHelmets": ("head", "helmet", "whole person"),
    "TrafficSide": ("bicycle", "bus", "car", "tractor", "truck"),
    "DiceFaces": ("one", "two", "three", "four", "five", "six"),
    "PondLife": ("crab", "eel", "fish", "jellyfish", "shell", "starfish", "turtle"),
    "WebWidgets": ("button", "checkbox", "field", "heading", "image", "link", "slider", "text"),
    "Charges": _CHARGE_NAMES,
    "ColourCards": (*digits, "draw four", "draw two", "reverse", "skip", "wild"),
    "HandLetters": tuple(ascii_uppercase),
    "Badges": tuple(f"{a} {b}" for a, b in product(_COLOUR_NAMES[:5], _CHARGE_NAMES[:6])),
    "LetterTiles": (*digits, *ascii_uppercase),
    "Pennants": tuple(f"{a} {b}" for a, b in islice(product(_COLOUR_NAMES, _SHAPE_NAMES), 43)),
}


class SyntheticOdinw(SyntheticRows, frozen=True, kw_only=True):
    """Rows of one split: the chosen sub-sets in turn."""

    family = "odinw"
    limitation = "drawn objects in sub-sets of our own"

    subset: tuple[str, ...] = tuple(CLASSES_BY_SUBSET)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.subset:
            if name not in CLASSES_BY_SUBSET:
                raise UsageError(
                    f"odinw: no synthetic sub-set {name!r}{suggest_names(name, CLASSES_BY_SUBSET)}"
                )
        if not self.subset or len({*self.subset}) < len(self.subset):
            raise UsageError("odinw: name at least one sub-set, and none twice")

    def build_frame(self, number: int) -> Frame:
        """Return one row. A sub-set's rows do not depend on which other sub-sets are selected."""
        lap, at = divmod(number, len(self.subset))
        name = self.subset[at]
        return Frame(
            id=self.row_id(number),
            family=self.family,
            source="synthetic",
            space=Choice(options=CLASSES_BY_SUBSET[name]),
            truth=self.correct_class(name, lap),
            group=f"{self.id_prefix}-{name}-{lap // N_CROPS_PER_PICTURE:05}",
            step=lap % N_CROPS_PER_PICTURE,
            slices={"subset": name},
        )

    def row_id(self, number: int) -> str:
        """Return the id of a row: it depends on the sub-set, not on the other sub-sets."""
        lap, at = divmod(number, len(self.subset))
        return f"{self.id_prefix}-{self.subset[at]}-{lap:06}"

    def row_number(self, id: str) -> int:
        """Return the number of the row with an id; any number or -1 for an unknown id."""
        name = id.split("-")[-2] if id.count("-") > 1 else ""
        if name not in self.subset:
            return -1
        return trailing_number(id) * len(self.subset) + self.subset.index(name)

    def correct_class(self, subset: str, lap: int) -> int:
        """Return the class of a sub-set's row: every class appears once before one repeats."""
        n = len(CLASSES_BY_SUBSET[subset])
        round, at = divmod(lap, n)
        return seeds.sample_indices(self.make_rng(f"{subset} classes", round), n, n)[at]

    def draw_pictures(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the crop."""
        from toolmark.suites.multinet.synthetic import crop_drawing

        lap, at = divmod(number, len(self.subset))
        name = self.subset[at]
        kind = CLASSES_BY_SUBSET[name][self.correct_class(name, lap)]
        ground = self.make_rng(f"{name} picture", lap // N_CROPS_PER_PICTURE)
        return (crop_drawing.draw_crop(name, kind, ground, self.make_rng(f"{name} crop", lap)),)


def rows(
    *, n: int, split: Split, seed: int, subset: tuple[str, ...] = tuple(CLASSES_BY_SUBSET)
) -> SyntheticOdinw:
    """Return the first n rows of a split, the sub-sets in turn.

    Raises UsageError for an unknown sub-set.
    """
    return SyntheticOdinw(n=n, split=split, seed=seed, subset=subset)
