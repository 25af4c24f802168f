"""A suite played by several models: the scenarios that every suite's case records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from msgspec import structs
from tests.golden import damage, endpoint, observe
from tests.golden.damage import Damaged
from tests.golden.normalise import Normaliser
from tests.golden.paths import Json

import toolmark as tm

DAMAGED = "damaged"
WIRE = "wire"
# Fourier transforms have last digits that depend on the processor: those tried differ by 1.5e-11
STOI = {"**.stoi": 1e-9}


@dataclass(frozen=True)
class Play:
    """How one scenario asks: `model` is a model's name, DAMAGED (an oracle that errs), or WIRE.

    WIRE plays the oracle in process, and then gives its replies through a real endpoint.
    """

    model: str
    more_parameters: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    tasks: bool = False
    requests: bool = False
    report: bool = True
    episodes: int | None = None  # shown in full, and the tables as text; by default where it tells
    spoilt: bool = False  # of WIRE: letters of the replies are changed; requests are not recorded
    same: str = ""  # the scenario whose finished tasks are asked again
    make: Callable[[Any], Any] | None = None  # an instrument out of the suite's oracle


def played(
    folder: Path, suite: str, parameters: Mapping[str, Any], plays: Mapping[str, Play]
) -> dict[str, Json]:
    """Return a scenario of each play: tasks, requests, endings, scores, summary, report."""
    made: dict[str, Json] = {}
    for name, play in plays.items():
        if play.same:
            (source,) = (folder / play.same).glob("*/")
            play = replace(play, settings={**play.settings, "tasks": source})
        act = _wired if play.model == WIRE else _played
        made[name] = act(folder / name, suite, parameters, play, Normaliser(folder))
    return made


def _settings(play: Play) -> dict[str, Any]:
    return {"max_connections": 1, "max_retries": 0, **play.settings}


def _played(
    folder: Path, suite: str, parameters: Mapping[str, Any], play: Play, tidy: Normaliser
) -> Json:
    loaded = tm.load(suite, **{**parameters, **play.more_parameters})
    make = Damaged if play.model == DAMAGED else play.make
    model: Any = make(loaded.controls["oracle"]) if make else play.model
    with observe.listening() as heard:
        found = tm.run(loaded, model, log_dir=folder, **_settings(play))
    made: dict[str, Json] = {"run": observe.run(found, tidy, tasks=play.tasks)}
    if play.requests:
        made["requests"] = observe.requests(heard, tidy)
    if play.report:
        telling = 2 if play.model in ("control/oracle", DAMAGED) else 0
        n = telling if play.episodes is None else play.episodes
        made["report"] = observe.report([found], tidy, episodes=n)
    return made


def _wired(
    folder: Path, suite: str, parameters: Mapping[str, Any], play: Play, tidy: Normaliser
) -> Json:
    """Play the oracle's replies through an endpoint; scores must come out as in process."""
    mine = {**parameters, **play.more_parameters}
    first = tm.run(
        tm.load(suite, **mine), "control/oracle", log_dir=folder / "oracle", **_settings(play)
    )
    replies = [step.reply for each in first.trajectories() for step in each.steps]
    if play.spoilt:
        rng = Random(suite)
        replies = [structs.replace(each, text=damage.spoilt(rng, each.text)) for each in replies]
    with endpoint.serving(endpoint.playing(replies)) as server:
        found = tm.run(
            tm.load(suite, **mine), server.model(), log_dir=folder / "wire", **_settings(play)
        )
    reported = observe.run(found, tidy, tasks=play.tasks)
    return (
        {"run": reported}
        if play.spoilt
        else {"run": reported, "wire": endpoint.sent(server.asked, tidy)}
    )
