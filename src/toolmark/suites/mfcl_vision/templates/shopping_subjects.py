"""Shopping: brands, products, shops, ready meals."""

from __future__ import annotations

from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject

_SHOPPING_CONTEXTS = (
    "I took this while shopping.",
    "My flatmate sent me this and wants to know more.",
    "I saw this in town and am curious.",
    "I like to know where my money goes.",
)

SHOPPING_SUBJECTS = (
    PictureSubject(
        domain="shopping", entity_kind="brand", noun="brand", plural="brands",
        scenes=("shelf", "parcels", "window"),
        contexts=(*_SHOPPING_CONTEXTS, "I am writing about where goods come from."),
    ),
    PictureSubject(
        domain="shopping", entity_kind="product", noun="product", plural="products",
        scenes=("shelf", "parcels", "market", "window"),
        contexts=(*_SHOPPING_CONTEXTS, "I am comparing offers.", "It is for my mother's birthday."),
    ),
    PictureSubject(
        domain="shopping", entity_kind="shop", noun="shop", plural="shops",
        scenes=("street", "market", "parcels"),
        contexts=(*_SHOPPING_CONTEXTS, "I am looking for a job in a shop."),
    ),
    PictureSubject(
        domain="shopping", entity_kind="dish", noun="ready meal", plural="ready meals",
        scenes=("shelf", "parcels", "market"),
        contexts=(*_SHOPPING_CONTEXTS, "We had this for dinner."),
    ),
)  # fmt: skip
