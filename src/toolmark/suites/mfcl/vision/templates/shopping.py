"""Shopping: brands, products, shops, ready meals."""

from __future__ import annotations

from toolmark.suites.mfcl.vision.templates.sight import Sight

_ERRAND = (
    "I took this while shopping.",
    "My flatmate sent me this and asked.",
    "I compare offers before I decide.",
    "This is what was left on the last day of the sale.",
    "I want to know what I am buying.",
)

SIGHTS = (
    Sight(
        domain="shopping", sees="brand", noun="brand", plural="brands",
        scenes=("shelf", "parcels", "window"),
        contexts=(*_ERRAND, "I write about where goods come from."),
    ),
    Sight(
        domain="shopping", sees="product", noun="product", plural="products",
        scenes=("shelf", "parcels", "market"),
        contexts=(*_ERRAND, "It is for my mother's birthday."),
    ),
    Sight(
        domain="shopping", sees="shop", noun="shop", plural="shops",
        scenes=("street", "window"),
        contexts=(*_ERRAND, "I look for a job in a shop."),
    ),
    Sight(
        domain="shopping", sees="dish", noun="ready meal", plural="ready meals",
        scenes=("shelf", "parcels", "market"),
        contexts=(*_ERRAND, "We had this for dinner."),
    ),
)  # fmt: skip
