"""Runs made by hand, of every kind of answer: rows, noisy answers in the form asked, scores."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from PIL import Image as Pictures

from toolmark.core import seeds
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Reply, Step, Task, Trajectory
from toolmark.generation.variant_tasks import VariantTasks
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.suites.multinet import task_making
from toolmark.suites.multinet.baseline_players import format_answer
from toolmark.suites.multinet.frame_records import (
    ACTIONS,
    ActionVector,
    Answer,
    AnswerSpace,
    Choice,
    Distribution,
    Form,
    Frame,
    FreeText,
    FunctionCalls,
    OneStepRows,
    Picture,
    Truth,
)
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.multinet_suites import SCORER

JOINT = tuple(f"{a}, {b}" for a in ACTIONS for b in ACTIONS)
PETS = tuple(f"animal number {i}" for i in range(26))
SETS = {"Letters": PETS, "Dice": ("one", "two", "three"), "Boards": PETS[:12]}
ARMS = ActionVector(
    names=tuple(f"arm{arm} joint {i}" for arm in (1, 2) for i in range(7)),
    low=(-1.0,) * 14, high=(1.0,) * 14, mean=(0.1,) * 14, slices={"arm1": (0, 7), "arm2": (7, 14)},
)  # fmt: skip
WHEELS = ActionVector(names=("speed", "turn"), low=(0.0, -0.5), high=(0.3, 0.5), mean=(0.1, 0.0))
HOSTILE = "</text></svg><script>document.title='owned'</script><img src=x onerror=alert(1)>"


class Shown(OneStepRows):
    """Rows in memory, each with one small picture of its own colour."""

    hashes: Mapping[str, str] = {}
    notes: Sequence[str] = ()

    def __init__(self, frames: Sequence[Frame], clustered: bool) -> None:
        self.frames = frames
        self.clustered = clustered

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        file = io.BytesIO()
        Pictures.new("RGB", (64, 40), (40, len(id) * 9 % 255, 120)).save(file, "PNG")
        return (Picture(data=file.getvalue(), mime="image/png"),)


def frame(family: Family, i: int, space: AnswerSpace, right: Answer, **rest: Any) -> Frame:
    fields = {
        "goal": f"Open jar {i}. {HOSTILE if i == 0 else ''}",
        "question": f"Which is {i}?",
        "instruction": "Fold the cloth.",
        "initial_config": "{}",
        "classes": "Files",
    }
    base = Frame(id=f"{family}-{i:04}", family=family, source="synthetic", space=space, truth=right,
                 group=f"group {i // 12}", step=i % 12, fields=fields)  # fmt: skip
    return replace(base, **rest)


def frames(family: str, n: int) -> list[Frame]:
    """N rows of a family; `odds` are Overcooked's, asked for probabilities."""
    return [_FRAMES[family](i, seeds.make_rng(11, f"{family}{i}", 0, "rows")) for i in range(n)]


def _piqa(i: int, rng: Any) -> Frame:
    pair = (f"with a spoon {i}", f"with a song {HOSTILE if i == 0 else i}")
    right = seeds.draw_below(rng, 2)
    return frame("piqa", i, Choice(options=pair), right,
                 baseline_answers={"uniform": seeds.draw_below(rng, 2), "majority": 1})  # fmt: skip


def _odinw(i: int, rng: Any) -> Frame:
    name = tuple(SETS)[i % len(SETS)]
    right = seeds.draw_below(rng, len(SETS[name]))
    return frame("odinw", i, Choice(options=SETS[name]), right, slices={"subset": name},
                 baseline_answers={"majority": 0, "majority-by-subset": 1})  # fmt: skip


def _joint(i: int, rng: Any) -> dict[str, Any]:
    right = 28 if seeds.draw_below(rng, 3) == 0 else seeds.draw_below(rng, 36)
    known = {"uniform": seeds.draw_below(rng, 36), "majority": 28, "stay": 28,
             "previous": seeds.draw_below(rng, 36)}  # fmt: skip
    return {
        "right": right,
        "baseline_answers": known,
        "slices": {"layout": ("ring", "forced")[i // 12 % 2]},
    }


def _overcooked(i: int, rng: Any) -> Frame:
    return frame("overcooked", i, Choice(options=JOINT), **_joint(i, rng))


def _odds(i: int, rng: Any) -> Frame:
    rest = _joint(i, rng)
    rest["baseline_answers"] |= {"uniform": (1 / 36,) * 36}
    return frame("overcooked", i, Distribution(options=JOINT), **rest)


def _sqa3d(i: int, rng: Any) -> Frame:
    words = ("left", "two", "brown table")
    known = {"majority": "left", "majority-by-type": words[i % 2]}
    return frame("sqa3d", i, FreeText(), words[seeds.draw_below(rng, 3)], baseline_answers=known,
                 slices={"type": ("what", "how", "can")[i % 3]})  # fmt: skip


def _bfcl(i: int, rng: Any) -> Frame:
    right = tuple((f"cd(folder='d{t}')", f"ls(a={i})") for t in range(3))
    return frame("bfcl", i, FunctionCalls(), right, turns=("Go.", "On.", "Again."),
                 baseline_answers={"majority": right[:1]})  # fmt: skip


def _openx(i: int, rng: Any) -> Frame:
    name, space = (("bimanual", ARMS), ("wheeled", WHEELS))[i % 2]
    right = tuple(rng.uniform(a, b) for a, b in zip(space.low, space.high, strict=True))
    near = tuple(x + rng.gauss(0, 0.2) for x in right)
    return frame(
        "openx",
        i,
        space,
        right,
        slices={"morphology": name},
        baseline_answers={
            "mean": space.mean,
            "previous": near,
            "linear": tuple(2 * x for x in near),
        },
    )


_FRAMES: Mapping[str, Any] = {
    "piqa": _piqa, "odinw": _odinw, "overcooked": _overcooked, "odds": _odds, "sqa3d": _sqa3d,
    "bfcl": _bfcl, "openx": _openx,
}  # fmt: skip


def tasks(family: str, n: int, forms: tuple[Form, ...] = ("text",)) -> list[Task]:
    """The rows as tasks, without pictures."""
    clustered = family in ("overcooked", "odds", "openx")
    builder = task_making.TaskBuilder(clustered, 1, with_pictures=True)
    return list(VariantTasks(frames(family, n), forms, builder.build_task))


# --- answers ----------------------------------------------------------------------------


def answered(task: Task, skill: float) -> Trajectory:
    """An answer: right by `skill`, else wrong, out of range, no answer at all."""
    truth = msgspec.convert(task.data, Truth)
    rng = seeds.make_rng(5, task.id, 0, f"answers {skill}")
    said = format_answer(truth, _answer(truth, skill, rng), task.tools)
    if rng.random() < (0.02 if truth.form == "text" else 0.15):
        said = (Reply(text="I would rather not say."),) * max(1, len(task.turns))
    return trajectory(task, said)


def trajectory(task: Task, said: Sequence[Reply]) -> Trajectory:
    """An episode of these replies."""
    steps = tuple(
        Step(reply=each, turn=turn, new_messages=task.turns[turn].messages, calls=each.calls)
        for turn, each in enumerate(said)
    )
    return Trajectory(task=task.id, steps=steps, answer=said[-1].text)


def _answer(truth: Truth, skill: float, rng: Any) -> Any:
    right = truth.truth
    lucky = rng.random() < skill
    match truth.space:
        case Choice(options=options):
            out = truth.form == "text" and rng.random() < 0.05
            return (
                right if lucky else len(options) + 3 if out else seeds.draw_below(rng, len(options))
            )
        case Distribution(options=options):
            weights = [rng.random() ** 4 + (6 * rng.random() * lucky if i == right else 0)
                       for i in range(len(options))]  # fmt: skip
            return [x / sum(weights) for x in weights]
        case ActionVector():
            wide = 0.1 if lucky else 2.0
            return [x + rng.gauss(0, wide) for x in right]  # type: ignore[union-attr]
        case FreeText():
            return right if lucky else "nothing of the kind"
        case _:
            return right if lucky else (right[0], ("rm()",), right[2])  # type: ignore[index]


def silent(task: Task) -> Trajectory:
    """An answer of nothing at all."""
    return trajectory(task, [Reply()])


def called(task: Task, name: str, arguments: str) -> Trajectory:
    """An answer by one call."""
    return trajectory(task, [Reply(calls=(Call(name=name, arguments=arguments),))])


def make(
    parent: Path, family: str, n: int, *, skill: float = 0.5, model: str = "test/noisy",
    forms: tuple[Form, ...] = ("text",),
) -> Run:  # fmt: skip
    """A scored run with its pictures."""
    rows = Shown(frames(family, n), family in ("overcooked", "odds", "openx"))
    media = MediaStore(parent / "media")
    maker = task_making.PictureMaker(rows, media)
    asked = [done for task in tasks(family, n, forms) for done in maker.make_item([task])]
    plan = Plan(
        suite=asked[0].suite, model=model, tool_format="native", parameters={"data": "synthetic"}
    )
    path = run_folders.claim_folder(parent, plan)
    run_folders.write_run(
        path, plan, iter(asked), media=media, seed=1, command="toolmark run", hashes={},
        versions={}, served_models=(), created="2026-01-02T03:04:05+00:00",
    )  # fmt: skip
    done = RecordAppender(path / "trajectories.jsonl")
    for task in asked:
        done.append(answered(task, skill))
    done.close()
    run_finalization.rescore_run(Run(path), SCORER)
    return Run(path)
