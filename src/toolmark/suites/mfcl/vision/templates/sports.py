"""Sports: leagues, teams, stadiums, cups, players."""

from __future__ import annotations

from toolmark.suites.mfcl.vision.templates.sight import Sight

_FAN = (
    "I took this on the day of the match.",
    "My uncle has this picture on his wall.",
    "We are arguing about this at the club.",
    "This came with the newsletter.",
    "I do not follow sport, but a friend asked me about this.",
)

SIGHTS = (
    Sight(
        domain="sports", sees="league", noun="league", plural="leagues",
        scenes=("stadium", "trophies"),
        contexts=(*_FAN, "I am trying to settle a bet."),
    ),
    Sight(
        domain="sports", sees="team", noun="team", plural="teams",
        scenes=("team", "stadium", "tickets"),
        contexts=(*_FAN, "My son wants to join them."),
    ),
    Sight(
        domain="sports", sees="stadium", noun="stadium", plural="stadiums",
        scenes=("tickets", "posters"),
        contexts=(*_FAN, "I am planning to visit every ground in the country."),
    ),
    Sight(
        domain="sports", sees="cup", noun="cup", plural="cups",
        scenes=("trophies", "tickets"),
        contexts=(*_FAN, "I am writing the club's chronicle."),
    ),
    Sight(
        domain="sports", sees="player", noun="player", plural="players",
        scenes=("team", "posters"),
        contexts=(*_FAN, "I collect autographs."),
    ),
)  # fmt: skip
