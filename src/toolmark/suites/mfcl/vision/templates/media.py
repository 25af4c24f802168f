"""Media: films, books, bands, albums, radio shows, podcasts."""

from __future__ import annotations

from toolmark.suites.mfcl.vision.templates.sight import Sight

_LEISURE = (
    "I snapped this so as not to forget it.",
    "This is from my brother, who never explains anything.",
    "I saw this yesterday evening.",
    "Somebody recommended this to me with nothing but a picture.",
    "I am preparing a talk for our culture club.",
)

SIGHTS = (
    Sight(
        domain="media", sees="film", noun="film", plural="films",
        scenes=("cinema", "screens"),
        contexts=(*_LEISURE, "We are choosing a film for tomorrow."),
    ),
    Sight(
        domain="media", sees="book", noun="book", plural="books",
        scenes=("books",),
        contexts=(*_LEISURE, "I am looking for a present."),
    ),
    Sight(
        domain="media", sees="band", noun="band", plural="bands",
        scenes=("records", "posters", "tickets"),
        contexts=(*_LEISURE, "My daughter wants to hear them live."),
    ),
    Sight(
        domain="media", sees="album", noun="album", plural="albums",
        scenes=("records",),
        contexts=(*_LEISURE, "I collect records."),
    ),
    Sight(
        domain="media", sees="show", noun="radio show", plural="radio shows",
        scenes=("posters", "stage", "tickets"),
        contexts=(*_LEISURE, "I am writing a column on radio."),
    ),
    Sight(
        domain="media", sees="podcast", noun="podcast", plural="podcasts",
        scenes=("screens", "posters"),
        contexts=(*_LEISURE, "I want something to listen to on the train."),
    ),
)  # fmt: skip
