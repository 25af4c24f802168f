"""Places: museums, cafés, stations, monuments, theatres, and shops in a street."""

from __future__ import annotations

from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject

_TRIP_CONTEXTS = (
    "I took this on a day out.",
    "A friend sent me this picture from a trip and left the rest to me.",
    "This is from the first day of our holiday.",
    "I came across this last week and have been wondering since.",
    "We are planning a tour and found this picture.",
)

PLACE_SUBJECTS = (
    PictureSubject(
        domain="places", entity_kind="museum", noun="museum", plural="museums",
        scenes=("gallery", "tickets"),
        contexts=(*_TRIP_CONTEXTS, "My class wants to go on an excursion."),
    ),
    PictureSubject(
        domain="places", entity_kind="cafe", noun="café", plural="cafés",
        scenes=("street", "market"),
        contexts=(*_TRIP_CONTEXTS, "We could not agree where to have breakfast."),
    ),
    PictureSubject(
        domain="places", entity_kind="station", noun="station", plural="stations",
        scenes=("station",),
        contexts=(*_TRIP_CONTEXTS, "I was changing trains here.", "This is on my way to work."),
    ),
    PictureSubject(
        domain="places", entity_kind="monument", noun="monument", plural="monuments",
        scenes=("park",),
        contexts=(*_TRIP_CONTEXTS, "I am writing a guide to the monuments of the region."),
    ),
    PictureSubject(
        domain="places", entity_kind="theatre", noun="theatre", plural="theatres",
        scenes=("posters", "stage", "tickets"),
        contexts=(*_TRIP_CONTEXTS, "We are looking for something to do on Saturday."),
    ),
    PictureSubject(
        domain="places", entity_kind="shop", noun="shop", plural="shops",
        scenes=("street", "market"),
        contexts=(*_TRIP_CONTEXTS, "I want to know more about the businesses around here."),
    ),
)  # fmt: skip
