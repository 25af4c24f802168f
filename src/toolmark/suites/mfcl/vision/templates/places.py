"""Places: museums, cafés, stations, monuments, theatres, and shops as one passes them."""

from __future__ import annotations

from toolmark.suites.mfcl.vision.templates.sight import Sight

_WALK = (
    "I took this on a day out.",
    "A friend sent me this picture from a trip and left the rest to me.",
    "This is from the first day of our holiday.",
    "I came across this last week and have been wondering since.",
    "We are planning a tour and found this picture.",
)

SIGHTS = (
    Sight(
        domain="places", sees="museum", noun="museum", plural="museums",
        scenes=("gallery", "tickets"),
        contexts=(*_WALK, "My class wants to go on an excursion."),
    ),
    Sight(
        domain="places", sees="cafe", noun="café", plural="cafés",
        scenes=("street", "market"),
        contexts=(*_WALK, "We could not agree where to have breakfast."),
    ),
    Sight(
        domain="places", sees="station", noun="station", plural="stations",
        scenes=("station",),
        contexts=(*_WALK, "I was changing trains here.", "This is on my way to work."),
    ),
    Sight(
        domain="places", sees="monument", noun="monument", plural="monuments",
        scenes=("park",),
        contexts=(*_WALK, "I am writing a guide to the monuments of the region."),
    ),
    Sight(
        domain="places", sees="theatre", noun="theatre", plural="theatres",
        scenes=("posters", "stage", "tickets"),
        contexts=(*_WALK, "We are looking for something to do on Saturday."),
    ),
    Sight(
        domain="places", sees="shop", noun="shop", plural="shops",
        scenes=("street", "market"),
        contexts=(*_WALK, "I want to know more about the businesses around here."),
    ),
)  # fmt: skip
