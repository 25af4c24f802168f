"""Events: festivals, conferences, trade fairs, races, awards."""

from __future__ import annotations

from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject

_EVENT_CONTEXTS = (
    "I found this picture on my phone after a long weekend.",
    "A colleague posted this without a word.",
    "This was the picture of the day in our paper.",
    "I am putting together a calendar for next year.",
    "I heard about this but missed the details.",
)

EVENT_SUBJECTS = (
    PictureSubject(
        domain="events", entity_kind="festival", noun="festival", plural="festivals",
        scenes=("posters", "stage", "tickets"),
        contexts=(*_EVENT_CONTEXTS, "We want to go this summer."),
    ),
    PictureSubject(
        domain="events", entity_kind="conference", noun="conference", plural="conferences",
        scenes=("stage", "posters"),
        contexts=(*_EVENT_CONTEXTS, "My boss is asking whether we should send somebody."),
    ),
    PictureSubject(
        domain="events", entity_kind="expo", noun="trade fair", plural="trade fairs",
        scenes=("stage", "tickets", "posters"),
        contexts=(*_EVENT_CONTEXTS, "We are thinking of renting a stand."),
    ),
    PictureSubject(
        domain="events", entity_kind="race", noun="race", plural="races",
        scenes=("race", "posters"),
        contexts=(*_EVENT_CONTEXTS, "My sister has begun to train."),
    ),
    PictureSubject(
        domain="events", entity_kind="award", noun="award", plural="awards",
        scenes=("trophies", "stage"),
        contexts=(*_EVENT_CONTEXTS, "I am preparing a quiz night."),
    ),
)  # fmt: skip
