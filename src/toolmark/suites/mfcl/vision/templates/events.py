"""Events: festivals, conferences, trade fairs, races, awards."""

from __future__ import annotations

from toolmark.suites.mfcl.vision.templates.sight import Sight

_DAY = (
    "I found this picture on my phone after a long weekend.",
    "A colleague posted this without a word.",
    "This was the picture of the day in our paper.",
    "I am putting together a calendar for next year.",
    "I heard about this but missed the details.",
)

SIGHTS = (
    Sight(
        domain="events", sees="festival", noun="festival", plural="festivals",
        scenes=("posters", "stage", "tickets"),
        contexts=(*_DAY, "We want to go this summer."),
    ),
    Sight(
        domain="events", sees="conference", noun="conference", plural="conferences",
        scenes=("stage", "posters"),
        contexts=(*_DAY, "My boss is asking whether we should send somebody."),
    ),
    Sight(
        domain="events", sees="expo", noun="trade fair", plural="trade fairs",
        scenes=("stage", "tickets", "posters"),
        contexts=(*_DAY, "We are thinking of renting a stand."),
    ),
    Sight(
        domain="events", sees="race", noun="race", plural="races",
        scenes=("race", "posters"),
        contexts=(*_DAY, "My sister has begun to train."),
    ),
    Sight(
        domain="events", sees="award", noun="award", plural="awards",
        scenes=("trophies", "stage"),
        contexts=(*_DAY, "I am preparing a quiz night."),
    ),
)  # fmt: skip
