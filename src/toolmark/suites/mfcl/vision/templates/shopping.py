"""Shopping: brands, products, shops, ready meals."""

from __future__ import annotations

from toolmark.suites.mfcl.vision.templates.sight import Sight

_ERRAND = (
    "I took this while shopping.",
    "My flatmate sent me this and wants to know more.",
    "I saw this in town and am curious.",
    "I like to know where my money goes.",
)

SIGHTS = (
    Sight(
        domain="shopping", sees="brand", noun="brand", plural="brands",
        scenes=("shelf", "parcels", "window"),
        contexts=(*_ERRAND, "I am writing about where goods come from."),
    ),
    Sight(
        domain="shopping", sees="product", noun="product", plural="products",
        scenes=("shelf", "parcels", "market", "window"),
        contexts=(*_ERRAND, "I am comparing offers.", "It is for my mother's birthday."),
    ),
    Sight(
        domain="shopping", sees="shop", noun="shop", plural="shops",
        scenes=("street", "market", "parcels"),
        contexts=(*_ERRAND, "I am looking for a job in a shop."),
    ),
    Sight(
        domain="shopping", sees="dish", noun="ready meal", plural="ready meals",
        scenes=("shelf", "parcels", "market"),
        contexts=(*_ERRAND, "We had this for dinner."),
    ),
)  # fmt: skip
