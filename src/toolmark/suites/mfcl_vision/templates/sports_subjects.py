"""Sports: leagues, teams, stadiums, cups, players."""

from __future__ import annotations

from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject

_FAN_CONTEXTS = (
    "I took this on the day of the match.",
    "My uncle has this picture on his wall.",
    "We are arguing about this at the club.",
    "This came with the newsletter.",
    "I do not follow sport, but a friend asked me about this.",
)

SPORTS_SUBJECTS = (
    PictureSubject(
        domain="sports", entity_kind="league", noun="league", plural="leagues",
        scenes=("stadium", "trophies"),
        contexts=(*_FAN_CONTEXTS, "I am trying to settle a bet."),
    ),
    PictureSubject(
        domain="sports", entity_kind="team", noun="team", plural="teams",
        scenes=("team", "stadium", "tickets"),
        contexts=(*_FAN_CONTEXTS, "My son wants to join them."),
    ),
    PictureSubject(
        domain="sports", entity_kind="stadium", noun="stadium", plural="stadiums",
        scenes=("tickets", "posters"),
        contexts=(*_FAN_CONTEXTS, "I am planning to visit every ground in the country."),
    ),
    PictureSubject(
        domain="sports", entity_kind="cup", noun="cup", plural="cups",
        scenes=("trophies", "tickets"),
        contexts=(*_FAN_CONTEXTS, "I am writing the club's chronicle."),
    ),
    PictureSubject(
        domain="sports", entity_kind="player", noun="player", plural="players",
        scenes=("team", "posters"),
        contexts=(*_FAN_CONTEXTS, "I collect autographs."),
    ),
)  # fmt: skip
