"""The seven suites: which rows are asked, what is sent, what is kept, what cannot be asked."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.suites.multinet.published import layouts

import toolmark as tm
from toolmark.core import worker_processes
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Image, Message, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.generation.variant_tasks import VariantTasks
from toolmark.official_bfcl import official_data
from toolmark.runs import dataset_folder
from toolmark.suites.multinet import control_models, task_making
from toolmark.suites.multinet.answer_parsing import GRADING_RULES
from toolmark.suites.multinet.frame_records import Choice, Frame, OneStepRows, Picture, Truth
from toolmark.suites.multinet.multinet_families import FAMILIES
from toolmark.suites.multinet.row_sampling import JoinedRows, SampledRows

FEW: dict[str, dict[str, Any]] = {
    family: {"data": "synthetic", "seed": 7, "items": 10, "pictures": False} for family in FAMILIES
}
FEW["piqa"].pop("pictures")
FEW["bfcl"] = {"items": 4}


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_processes, "available_cores", lambda: 1)
        yield


class Few(OneStepRows):
    """Rows in memory; of one the picture lacks."""

    clustered = True
    notes: Sequence[str] = ("few",)
    hashes: Mapping[str, str] = {"few.json": "0" * 64}

    def __init__(self, ids: Sequence[str], lost: str = "") -> None:
        self.ids, self.lost = ids, lost

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Frame]:
        for id in self.ids:
            pets = Choice(options=("cat", "dog"))
            yield Frame(id=id, family="odinw", source="published", group=id[:2], truth=0,
                        space=pets, slices={"subset": "Pets"})  # fmt: skip

    def pictures(self, id: str) -> tuple[Picture, ...]:
        if id == self.lost:
            raise DataError(f"{id}.png: no such file")
        return tuple(Picture(data=f"{id} {k}".encode(), mime="image/png") for k in range(2))


IDS = [f"r{k:02}" for k in range(40)]
unique = st.lists(st.text("abcdef", min_size=1), unique=True, max_size=30)


# --- which rows -------------------------------------------------------------------------


@given(unique, st.integers(1, 10), st.randoms(use_true_random=False))
def test_what_is_drawn_hangs_on_ids_alone(ids: list[str], n: int, rng: Any) -> None:
    first = {frame.id for frame in SampledRows(Few(ids), n, 3)}
    other = list(ids)
    rng.shuffle(other)
    drawn = SampledRows(Few(other), n, 3)
    assert {frame.id for frame in drawn} == first and len(drawn) == len(first) == min(n, len(ids))
    assert [f.id for f in drawn] == [id for id in other if id in first]  # their order is kept
    assert first <= {frame.id for frame in SampledRows(Few(ids), n + 1, 3)}
    left = [id for id in ids if id in first or rng.random() < 0.5]
    assert {frame.id for frame in SampledRows(Few(left), n, 3)} == first  # nor on those not drawn


def test_another_seed_draws_others() -> None:
    drawn = [{f.id for f in SampledRows(Few(IDS), 10, seed)} for seed in range(2)]
    assert drawn[0] != drawn[1]
    assert "10 of 40 rows" in " ".join(SampledRows(Few(IDS), 10, 1).notes)


def test_sets_that_are_joined_keep_their_rows_apart() -> None:
    rows = JoinedRows({"a": Few(IDS[:3]), "b": Few(IDS[:2])})
    frames = list(rows)
    assert len(rows) == len({frame.id for frame in frames}) == 5
    assert {frame.group for frame in frames} == {"a:r0", "b:r0"}
    assert rows.pictures("b:r01")[0].data == b"r01 0" and rows.notes == ("few",)
    assert rows.hashes == {"a/few.json": "0" * 64, "b/few.json": "0" * 64}
    with pytest.raises(DataError, match="no row 'c:r01'"):
        rows.pictures("c:r01")


@pytest.mark.parametrize("n", [1, 20, None])
def test_rows_that_are_drawn_can_travel(n: int | None) -> None:
    rows = SampledRows(JoinedRows({"a": Few(IDS)}), n, 1)
    ids = [frame.id for frame in rows]
    there = pickle.loads(pickle.dumps(rows))  # noqa: S301 - our own
    assert [frame.id for frame in there] == ids and len(there) == len(ids)


# --- tasks ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_is_asked_in_both_forms_in_succession(family: str) -> None:
    suite = tm.load(f"multinet-{family}", form="both", **FEW[family])
    tasks = list(suite)
    assert len(tasks) == len(suite) and len({task.id for task in tasks}) == len(tasks)
    for text, tool in zip(tasks[::2], tasks[1::2], strict=True):
        assert text.item == tool.item and text.category == tool.category
        assert (text.axes["form"], tool.axes["form"]) == ("text", "tool")
        assert {**text.axes, "form": ""} == {**tool.axes, "form": ""}
        assert not text.tools and tool.tools
        assert text.axes["source"] == ("published" if family == "bfcl" else "synthetic")
        assert read_task_data(text, Truth).truth == read_task_data(tool, Truth).truth
        for task in (text, tool):
            assert msgspec.to_builtins(read_task_data(task, Truth)) == task.data, (
                "nothing but a Truth"
            )
        assert bool(read_task_data(text, Truth).parameters) == (family == "bfcl")
    assert tasks == list(tm.load(f"multinet-{family}", form="both", **FEW[family]))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_sent_does_not_hang_on_what_is_right(family: str) -> None:
    pending: Any = tm.load(f"multinet-{family}", form="both", **FEW[family]).tasks
    for frame in pending.items:
        for form in task_making.ALL_FORMS:
            task = pending.build_task(frame, form)
            other = control_models.FAULTS_BY_SPACE[type(frame.space)]["wrong"](
                read_task_data(task, Truth)
            )
            twin = pending.build_task(replace(frame, truth=other, baseline_answers={}), form)
            assert other != frame.truth
            assert (twin.turns, twin.tools) == (task.turns, task.tools)


def test_openx_asks_all_morphologies_evenly() -> None:
    suite = tm.load("multinet-openx", **{**FEW["openx"], "items": 12})
    found = [task.category for task in suite]
    assert {name: found.count(name) for name in found} == {
        "single_arm": 3, "bimanual": 3, "mobile": 2, "wheeled": 2, "quadrupedal": 2,
    }  # fmt: skip
    groups = {task.axes["group"] for task in tm.load("multinet-openx", data="synthetic", seed=1)}
    assert len(groups) > 50, "steps of many episodes, not the first of one"


# --- pictures ---------------------------------------------------------------------------


def made(tmp_path: Path, lost: str = "") -> list[Task]:
    rows = Few(IDS[:3], lost)
    builder = task_making.TaskBuilder(rows.clustered, 1, with_pictures=True)
    tasks = VariantTasks(rows, task_making.ALL_FORMS, builder.build_task)
    return list(task_making.PictureMaker(rows, MediaStore(tmp_path / "media"))(tasks))


def test_pictures_come_before_the_words_oldest_first(tmp_path: Path) -> None:
    media = MediaStore(tmp_path / "media")
    for task in made(tmp_path):
        *_, user = task.turns[0].messages
        shown = [part for part in user.parts if isinstance(part, Image)]
        assert [media.read(part).decode() for part in shown] == [f"{task.item} {k}" for k in (0, 1)]
        assert list(user.parts[:2]) == shown and "Option 1: dog" in user.text


def test_a_row_whose_picture_lacks_is_not_run(tmp_path: Path) -> None:
    tasks = made(tmp_path, lost="r01")
    assert [bool(task_making.picture_failure(task)) for task in tasks] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert task_making.picture_failure(tasks[2]) == "r01.png: no such file"
    for task in tasks:
        assert msgspec.to_builtins(read_task_data(task, Truth)) == task.data, (
            "a Truth, and nothing else"
        )


def test_a_run_says_which_pictures_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = tm.load("multinet-odinw", data="synthetic", seed=7, items=4)
    lost = next(iter(suite)).item
    kind = type(suite.maker.make.rows.rows.rows)  # type: ignore[attr-defined]
    drawn = kind.pictures

    def pictures(self: Any, id: str) -> Any:
        if id == lost:
            raise DataError("it is gone")
        return drawn(self, id)

    monkeypatch.setattr(kind, "pictures", pictures)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    assert (run.summary()["n_run"], run.summary()["n_not_run"]) == (3, 1)
    assert "it is gone" in next(iter(run.attempts())).failure.message


def test_only_pictures_that_are_sent_are_made() -> None:
    for pictures in (True, False):
        suite = tm.load("multinet-odinw", **{**FEW["odinw"], "items": 2, "pictures": pictures})
        parts = [
            part
            for task in suite.maker.make(suite)
            for message in task.turns[0].messages
            for part in message.parts
        ]
        assert any(isinstance(part, Image) for part in parts) == pictures
        assert bool(suite.maker.describe_work(suite)) == pictures


def test_a_made_set_asks_the_same(tmp_path: Path) -> None:
    suite = tm.load("multinet-overcooked", data="synthetic", seed=7, items=3, form="both")
    dataset_folder.write_dataset(tmp_path / "set", suite)
    assert "SYNTHETIC" in (tmp_path / "set" / "README.md").read_text()
    again = tm.load("multinet-overcooked", data="synthetic")
    run = tm.run(again, "control/oracle", tasks=str(tmp_path / "set"), log_dir=tmp_path)
    assert run.summary()["score"]["value"] == 1 and run.summary()["n_run"] == 6


# --- folders ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["piqa", "sqa3d", "robovqa", "odinw", "openx"])
def test_a_folder_in_the_published_layout_is_asked(family: str, tmp_path: Path) -> None:
    layouts.fill(tmp_path / "data")
    text = {"similarity": "none"} if family in ("sqa3d", "robovqa") else {}
    parameters = {"data": str(tmp_path / "data"), "items": "all", "form": "both", **text}
    suite = tm.load(f"multinet-{family}", **parameters)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    found = run.summary()
    assert found["score"]["value"] == 1 and found["n_not_run"] == 0 and found["n_run"] > 3
    assert {each.axes["source"] for each in run.scores()} == {"published"}
    assert (
        suite.provenance.seed == 0
        and suite.provenance.hashes["items"]
        and suite.provenance.export.sources
    )
    assert tm.load(f"multinet-{family}", **parameters).provenance.hashes == suite.provenance.hashes


# --- episodes ---------------------------------------------------------------------------


class Heard(Model):
    """A model that keeps what it was asked and gives replies in turn."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = iter(replies)
        self.asked: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.asked.append(request)
        return next(self.replies, Reply(text="ls()"))


def test_turns_go_on_after_calls_with_what_the_model_itself_said(tmp_path: Path) -> None:
    model = Heard(Reply(calls=(Call(name="ls", id="c1"),)), Reply(text="pwd()"))
    suite = tm.load("multinet-bfcl", form="tool", items=1, similarity="none")
    run = tm.run(suite, model, log_dir=tmp_path)
    (task,) = run.tasks()
    (trajectory,) = run.trajectories()
    n = len(task.turns)
    assert len(model.asked) == n > 1 and len(trajectory.steps) == n
    last: tuple[Message, ...] = model.asked[-1].messages
    roles = [message.role for message in last]
    assert roles[:4] == ["system", "user", "assistant", "tool"]
    assert last[2].calls[0].name == "ls" and "not executed" in last[3].text
    assert [m.text for m in last if m.role == "assistant"][1:2] == (["pwd()"] if n > 2 else [])
    assert all(request.tools for request in model.asked)


def test_one_reply_is_all_there_is(tmp_path: Path) -> None:
    model = Heard()
    suite = tm.load("multinet-piqa", form="both", **{**FEW["piqa"], "items": 2})
    tm.run(suite, model, log_dir=tmp_path)
    assert len(model.asked) == 4


def test_the_path_of_calls_is_never_sent(tmp_path: Path) -> None:
    """The published prompt shows it, which nearly spells out what is right."""
    path = ["GorillaFileSystem.cd", "GorillaFileSystem.secret_step"]
    said = [[{"role": "user", "content": "Go home."}], [{"role": "user", "content": "Look."}]]
    home = tmp_path / "bfcl_v3" / "public"
    home.mkdir(parents=True)
    question = {"id": "q1", "question": said, "initial_config": {"GorillaFileSystem": {}},
                "path": path, "involved_classes": ["GorillaFileSystem"]}  # fmt: skip
    answer = {"id": "q1", "ground_truth": [["cd(folder='home')"], ["ls()"]]}
    (home / "questions.jsonl").write_text(json.dumps(question))
    (home / "answers.jsonl").write_text(json.dumps(answer))
    suite = tm.load("multinet-bfcl", data=str(tmp_path), form="both", similarity="none")
    for task in suite:
        whole = repr(task)
        assert "secret_step" not in whole and "GorillaFileSystem.cd" not in whole
        assert "Go home." in whole and "Look." in whole
    model = Heard()
    tm.run(suite, model, log_dir=tmp_path / "runs")
    assert all("secret_step" not in repr(request) for request in model.asked)


def test_the_official_conversations_show_their_docs_and_not_their_answers() -> None:
    assert official_data.PACKAGE.version in tm.load("multinet-bfcl").provenance.export.sources[0]
    for text, tool in zip(*[iter(tm.load("multinet-bfcl", items=3, form="both"))] * 2, strict=True):
        first = text.turns[0].messages[-1].text
        assert all(f'"name":"{each.name}"' in first for each in tool.tools)
        assert '"name":"' not in tool.turns[0].messages[-1].text


# --- instruments ------------------------------------------------------------------------

FAULTS = sorted(
    {(kind.__name__, name) for kind, own in control_models.FAULTS_BY_SPACE.items() for name in own}
)
SUITES = {
    "Choice": ("odinw", {}), "Distribution": ("overcooked", {"mode": "probs"}),
    "ActionVector": ("openx", {"morphology": "bimanual"}),
    "FreeText": ("robovqa", {"similarity": "none"}),
    "FunctionCalls": ("bfcl", {"similarity": "none"}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "fault"), FAULTS)
def test_every_fault_fails_every_task_in_both_forms(kind: str, fault: str, tmp_path: Path) -> None:
    family, more = SUITES[kind]
    suite = tm.load(f"multinet-{family}", form="both", **{**FEW[family], **more, "items": 5})
    run = tm.run(suite, f"control/faulty?class={fault}", log_dir=tmp_path)
    for each in run.scores():
        for reading in GRADING_RULES:
            lax = (kind, fault, reading) in _LAX
            verdict = each.verdicts[reading]
            assert lax or verdict.value == 0
            valid = (kind, fault) in _VALID or lax
            assert verdict.parts["valid"] == valid, (each.task, reading)


_VALID = {
    ("Choice", "wrong"), ("Distribution", "wrong"), ("ActionVector", "wrong"),
    ("ActionVector", "out_of_range"),
    ("FreeText", "wrong"), ("FunctionCalls", "wrong"),
}  # fmt: skip
_LAX = {("Distribution", "out_of_range", "reference"), ("Distribution", "nan", "reference")}


def test_a_control_names_the_faults_that_there_are(tmp_path: Path) -> None:
    suite = tm.load("multinet-piqa", **FEW["piqa"])
    with pytest.raises(UsageError, match=r"no class 'nan'.*out_of_range"):
        tm.run(suite, "control/faulty?class=nan", log_dir=tmp_path)
    with pytest.raises(UsageError, match="no option 'kind'"):
        tm.run(suite, "control/faulty?kind=nan", log_dir=tmp_path)


# --- parameters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "parameters", "reported"),
    [
        ("piqa", {"items": 0}, "items"),
        ("piqa", {"items": "all"}, "how many"),
        ("piqa", {"items": "few"}, "items.*'few'"),
        ("piqa", {"data": "/nowhere"}, "/nowhere"),
        ("piqa", {"form": "speech"}, "form.*'speech'"),
        ("openx", {"morphology": "biped"}, "morphology.*'biped'"),
        ("openx", {"items": 3}, r"\b3 rows.*\b5 morphologies"),
        ("openx", {"morphology": "own"}, "own.*data=DIR"),
        ("piqa", {"sample": "all"}, "items"),
        ("odinw", {"subset": "all,nonsense"}, "all"),
        ("odinw", {"subset": "Nowhere"}, "'Nowhere'"),
        ("piqa", {"data": "official"}, "'official'"),
        ("bfcl", {"data": "synthetic"}, "stand-in"),
        ("overcooked", {"data": "/nowhere"}, "/nowhere"),
        ("overcooked", {"mode": "guess"}, "mode.*'guess'"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_reported(
    family: str, parameters: dict[str, Any], reported: str
) -> None:
    with pytest.raises(UsageError, match=reported):
        list(tm.load(f"multinet-{family}", **{**FEW[family], **parameters}))


def test_a_folder_of_robots_is_asked_for_those_it_holds(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="morphology"):
        tm.load("multinet-openx", data=str(tmp_path))


def test_a_robot_of_ones_own_is_asked_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs/suites/multinet.md").read_text()
    (code,) = [block.partition("```")[0] for block in page.split("```python")[1:]
               if "write_table" in block]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/suites/multinet.md", "exec"), {})  # noqa: S102 - our own page
    suite = tm.load("multinet-openx", data="my-robot", morphology="own", items="all")
    (reported,) = [note for note in suite.provenance.notes if "test split" in note]
    assert "are reserved to learn from" in reported and not any(
        "dataset.json" in n for n in suite.provenance.notes
    )
    task = next(iter(suite))
    assert all(text in task.turns[0].messages[-1].text for text in ("forward", "in a kitchen"))
    run = tm.run(suite, "baseline/previous", log_dir=tmp_path / "runs")
    assert run.summary()["n_not_run"] == 0 and run.summary()["n_run"] >= 10
    tm.write_report(run)
    assert {task.item.partition(":")[0] for task in suite} == {"own"}


def test_a_row_keeps_its_name_whatever_else_is_asked() -> None:
    few = {**FEW["openx"], "items": 2}
    one = {task.item for task in tm.load("multinet-openx", **few, morphology="wheeled")}
    two = {task.item for task in tm.load("multinet-openx", **{**few, "items": 4},
                                         morphology="wheeled,mobile")}  # fmt: skip
    assert one < two
