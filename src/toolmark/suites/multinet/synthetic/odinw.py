"""Stand-in for ODinW: crops of drawn objects, each in one of several sub-sets with own classes.

The sub-sets are our own; their numbers of classes are ones that the published ones have. Three
crops at a time come from one picture: the same ground, light and distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from string import ascii_uppercase, digits
from typing import TYPE_CHECKING

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.suites.multinet.frame import Choice, Frame
from toolmark.suites.multinet.synthetic.stand import Split, Stand, counted

if TYPE_CHECKING:
    from PIL import Image

CROPS = 3  # of one picture
_COLOURS = ("red", "blue", "green", "yellow", "black", "white", "orange", "purple")
_SHAPES = ("shield", "circle", "square", "diamond", "hexagon", "triangle")
_CHARGES = ("star", "crescent", "anchor", "tree", "wave", "mountain", "arrow", "sun", "key", "leaf",
            "fish", "crown", "bolt")  # fmt: skip

SUBSETS: Mapping[str, tuple[str, ...]] = {
    "ParkingBays": ("space-empty", "space-occupied"),
    "FaceMasks": ("mask", "no-mask"),
    "BloodSmears": ("red cell", "white cell", "platelet"),
    "SiteHelmets": ("head", "helmet", "whole person"),
    "TrafficSide": ("bicycle", "bus", "car", "tractor", "truck"),
    "DiceFaces": ("one", "two", "three", "four", "five", "six"),
    "PondLife": ("crab", "eel", "fish", "jellyfish", "shell", "starfish", "turtle"),
    "WebWidgets": ("button", "checkbox", "field", "heading", "image", "link", "slider", "text"),
    "Charges": _CHARGES,
    "ColourCards": (*digits, "draw four", "draw two", "reverse", "skip", "wild"),
    "HandLetters": tuple(ascii_uppercase),
    "Badges": tuple(f"{a} {b}" for a, b in product(_COLOURS[:5], _CHARGES[:6])),
    "LetterTiles": (*digits, *ascii_uppercase),
    "Pennants": tuple(f"{a} {b}" for a, b in islice(product(_COLOURS, _SHAPES), 43)),
}


class Odinw(Stand, frozen=True, kw_only=True):
    """Rows of one split: the chosen sub-sets in turn."""

    family = "odinw"
    limit = "drawn objects in sub-sets of our own"

    subset: tuple[str, ...] = tuple(SUBSETS)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.subset:
            if name not in SUBSETS:
                raise UsageError(f"odinw: no synthetic sub-set {name!r}{near(name, SUBSETS)}")
        if not self.subset or len({*self.subset}) < len(self.subset):
            raise UsageError("odinw: name at least one sub-set, and none twice")

    def frame(self, number: int) -> Frame:
        """Return one row. Whatever sub-sets are chosen, a sub-set has the same rows."""
        lap, at = divmod(number, len(self.subset))
        name = self.subset[at]
        return Frame(
            id=self.named(number),
            family=self.family,
            source="synthetic",
            space=Choice(options=SUBSETS[name]),
            truth=self.truth(name, lap),
            group=f"{self.stem}-{name}-{lap // CROPS:05}",
            step=lap % CROPS,
            slices={"subset": name},
        )

    def named(self, number: int) -> str:
        """Return the id of a row: it hangs on the sub-set, not on which others there are."""
        lap, at = divmod(number, len(self.subset))
        return f"{self.stem}-{self.subset[at]}-{lap:06}"

    def number(self, id: str) -> int:
        """Return the number of the row of an id; any or -1 for what is none."""
        name = id.split("-")[-2] if id.count("-") > 1 else ""
        if name not in self.subset:
            return -1
        return counted(id) * len(self.subset) + self.subset.index(name)

    def truth(self, subset: str, lap: int) -> int:
        """Return the class of a sub-set's row: all classes once before one comes again."""
        n = len(SUBSETS[subset])
        round, at = divmod(lap, n)
        return seeds.sample(self.rng(f"{subset} classes", round), n, n)[at]

    def drawn(self, number: int) -> tuple[Image.Image, ...]:
        """Draw the crop."""
        from toolmark.suites.multinet.synthetic import crops

        lap, at = divmod(number, len(self.subset))
        name = self.subset[at]
        kind = SUBSETS[name][self.truth(name, lap)]
        ground = self.rng(f"{name} picture", lap // CROPS)
        return (crops.drawn(name, kind, ground, self.rng(f"{name} crop", lap)),)


def rows(*, n: int, split: Split, seed: int, subset: tuple[str, ...] = tuple(SUBSETS)) -> Odinw:
    """Return the first n rows of a split, the sub-sets in turn.

    Raises UsageError for a sub-set that there is not.
    """
    return Odinw(n=n, split=split, seed=seed, subset=subset)
