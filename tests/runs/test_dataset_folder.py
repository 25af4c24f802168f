"""A made set: whole or not there, always the same, and nothing outside its folder is touched."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import itertools
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolmark as tm
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Audio, Part, Table, Task
from toolmark.runs import data_card, dataset_folder
from toolmark.runs.suite import SetExport


def suite(graphs: int = 3) -> tm.Suite:
    return tm.load("funcbench", core=4, depth=2, graphs=graphs, seed=3)


def collected(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


def more(folder: Path) -> list[Table]:
    n = len((folder / "tasks.jsonl").read_text().splitlines())
    (folder / "deep").mkdir()
    for number in range(n):
        (folder / "deep" / f"{number}.txt").write_text(str(number))
    return [Table(title="Extra", head=("n",), rows=((n,),))]


def richer(graphs: int = 3, **known: Any) -> tm.Suite:
    return dataclasses.replace(
        suite(graphs),
        provenance=dataclasses.replace(
            suite(graphs).provenance, export=SetExport(write_extra_files=more, **known)
        ),
    )


def test_every_file_stands_in_the_manifest_and_nothing_else_is_there(tmp_path: Path) -> None:
    manifest = dataset_folder.write_dataset(tmp_path / "made", richer())
    found = collected(tmp_path / "made")
    del found["manifest.json"]
    sums = {name: (hashlib.sha256(data).hexdigest(), len(data)) for name, data in found.items()}
    assert sums == {n: (f.sha256, f.size_bytes) for n, f in manifest.files.items()}
    assert set(found) == {"README.md", "tasks.jsonl", *(f"deep/{n}.txt" for n in range(3))}
    read = dataset_folder.read_manifest(tmp_path / "made")
    assert msgspec.json.encode(read) == msgspec.json.encode(manifest)
    assert (manifest.suite, manifest.seed, manifest.n_tasks) == ("funcbench", 3, 3)


def test_the_same_request_makes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b", "a"):  # the second "a" replaces the first
        dataset_folder.write_dataset(tmp_path / name, richer())
    assert collected(tmp_path / "a") == collected(tmp_path / "b")


def test_a_smaller_set_leaves_nothing_of_the_greater_and_spares_other_files(
    tmp_path: Path,
) -> None:
    dataset_folder.write_dataset(tmp_path / "made", richer(5))
    (tmp_path / "made" / "notes.txt").write_text("mine")
    (tmp_path / "made" / "deep" / "own.txt").write_text("mine too")
    dataset_folder.write_dataset(tmp_path / "made", suite(2))
    dataset_folder.write_dataset(tmp_path / "fresh", suite(2))
    left = collected(tmp_path / "made")
    assert left.pop("notes.txt") == b"mine"
    assert left.pop("deep/own.txt") == b"mine too"
    assert left == collected(tmp_path / "fresh")


@pytest.mark.parametrize("old", [True, False])
def test_what_fails_on_the_way_changes_nothing(tmp_path: Path, old: bool) -> None:
    folder = tmp_path / "made"
    if old:
        dataset_folder.write_dataset(folder, richer(2))
    before = collected(folder) if old else {}

    def torn() -> Iterator[Task]:
        yield from list(suite(4))[:3]
        raise DataError("the fourth cannot be made")

    breaking = dataclasses.replace(
        suite(4),
        provenance=dataclasses.replace(
            suite(4).provenance, export=SetExport(write_extra_files=_breaks)
        ),
    )
    for failing, tasks in ((suite(4), torn()), (breaking, None)):
        with pytest.raises(DataError):
            dataset_folder.write_dataset(folder, failing, tasks)
        assert collected(folder) == before


def _breaks(folder: Path) -> list[Table]:
    (folder / "half").write_text("a half")
    raise DataError("no more")


def test_a_folder_of_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("my own")
    with pytest.raises(UsageError, match=r"holds other files \(README.md\)"):
        dataset_folder.write_dataset(tmp_path, suite())
    assert collected(tmp_path) == {"README.md": b"my own"}
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="not a folder"):
        dataset_folder.write_dataset(tmp_path / "file", suite())


def test_a_file_of_the_users_on_a_new_place_is_spared(tmp_path: Path) -> None:
    dataset_folder.write_dataset(tmp_path / "made", suite())
    (tmp_path / "made" / "deep").mkdir()
    (tmp_path / "made" / "deep" / "1.txt").write_text("mine")
    before = collected(tmp_path / "made")
    with pytest.raises(UsageError, match=r"deep/1.txt is none of the set's own files"):
        dataset_folder.write_dataset(tmp_path / "made", richer())
    assert collected(tmp_path / "made") == before


@pytest.mark.parametrize("name", ["../victim", "/{}/victim", "a/../../victim", "link/victim", ""])
def test_a_hostile_manifest_leads_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_text("alive")
    folder = tmp_path / "made"
    manifest = dataset_folder.write_dataset(folder, suite())
    (folder / "link").symlink_to(tmp_path)
    named = name.format(str(tmp_path).lstrip("/"))
    files = {**manifest.files, named: dataset_folder.DatasetFile(sha256="0" * 64, size_bytes=1)}
    hostile = msgspec.structs.replace(manifest, files=files)
    (folder / "manifest.json").write_bytes(msgspec.json.encode(hostile))
    with pytest.raises(DataError, match=r"manifest\.json"):
        dataset_folder.write_dataset(folder, suite(2))
    assert (tmp_path / "victim").read_text() == "alive"


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b'{"format":9,"suite":"x","seed":1,"n_tasks":1}']
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, data: bytes) -> None:
    dataset_folder.write_dataset(tmp_path / "made", suite())
    (tmp_path / "made" / "manifest.json").write_bytes(data)
    with pytest.raises(DataError, match="manifest"):
        dataset_folder.write_dataset(tmp_path / "made", suite())


def test_a_set_that_was_changed_is_asked_by_its_file_only(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, suite())
    done = tm.run(suite(), "control/oracle", tasks=folder, log_dir=tmp_path / "runs")
    assert done.summary()["n_run"] == 3
    lines = (folder / "tasks.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "tasks.jsonl").write_bytes(b"".join(lines[:2]))
    with pytest.raises(DataError, match=r"tasks\.jsonl"):
        tm.run(suite(), "control/oracle", tasks=folder, log_dir=tmp_path / "runs")
    path = folder / "tasks.jsonl"
    done = tm.run(suite(), "control/oracle", tasks=path, log_dir=tmp_path / "runs")
    assert done.summary()["n_run"] == 2


def test_one_process_at_a_time(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="another process"):
        dataset_folder.write_dataset(tmp_path, suite())
    os.close(other)
    dataset_folder.write_dataset(tmp_path, suite())


def test_media_that_only_a_reference_names_come_along(tmp_path: Path) -> None:
    source = MediaStore(tmp_path / "source")
    saved = source.add_audio(b"sound", "audio/wav")

    def refers(task: Task) -> list[Part]:
        return [saved]

    loud = dataclasses.replace(
        suite(),
        provenance=dataclasses.replace(suite().provenance, media=source, referenced_media=refers),
    )
    dataset_folder.write_dataset(tmp_path / "made", loud)
    assert MediaStore(tmp_path / "made" / "media").read(saved) == b"sound"
    run = tm.run(loud, "control/null", tasks=tmp_path / "made", log_dir=tmp_path / "runs")
    assert MediaStore(run.path / "media").read(saved) == b"sound"


def test_a_link_has_the_bytes_and_takes_only_what_is_whole(tmp_path: Path) -> None:
    media = MediaStore(tmp_path / "media")
    part = media.add_audio(b"sound", "audio/wav")
    media.link_file(part, tmp_path / "a" / "b.wav")
    assert (tmp_path / "a" / "b.wav").read_bytes() == b"sound"
    missing = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=1)
    with pytest.raises(DataError):
        media.link_file(missing, tmp_path / "c.wav")
    assert not (tmp_path / "c.wav").exists()


def test_foreign_words_in_a_card_are_only_words(tmp_path: Path) -> None:
    dropped = {"a|b": "x\n# heading", "<script>": "`code` [link](http://a)\x1b[31m"}
    dataset_folder.write_dataset(tmp_path / "made", richer(omitted=dropped, sources=("ours",)))
    card = (tmp_path / "made" / "README.md").read_text()
    listed = card.partition("## Left out\n")[2]
    rows = [line for line in listed.splitlines() if "heading" in line or "script" in line]
    assert rows == [
        r"| a\|b | x \# heading |",
        r"| \<script\> | \`code\` \[link\](http://a) \[31m |",
    ]
    assert "## Extra" in card and "* ours" in card
    assert str(tmp_path) not in card


# --- nothing is lost ---------------------------------------------------------------------


def test_what_was_changed_in_a_set_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, richer())
    (folder / "deep" / "1.txt").write_text("my own words")
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(tmp_path / "elsewhere")
    before = collected(folder)
    with pytest.raises(UsageError, match=r"not overwritten: README.md, deep/1.txt;"):
        dataset_folder.write_dataset(folder, suite(2))
    assert collected(folder) == before and (folder / "README.md").is_symlink()


@pytest.mark.parametrize("name", ["deep", "x" * 5000, "manifest.json", ".making/a"])
def test_a_manifest_that_names_no_file_costs_nothing(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "made"
    manifest = dataset_folder.write_dataset(folder, richer())
    files = {**manifest.files, name: dataset_folder.DatasetFile(sha256="0" * 64, size_bytes=1)}
    hostile = msgspec.structs.replace(manifest, files=files)
    (folder / "manifest.json").write_bytes(msgspec.json.encode(hostile))
    before = collected(folder)
    with pytest.raises((UsageError, DataError)):
        dataset_folder.write_dataset(folder, suite(2))
    assert collected(folder) == before


def test_a_file_where_a_folder_must_come_costs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, suite())
    (folder / "deep").write_text("mine")
    before = collected(folder)
    with pytest.raises(UsageError, match="deep"):
        dataset_folder.write_dataset(folder, richer())
    assert collected(folder) == before


class Failing:
    """Lets so many files be moved out of or into the set, then the disk fails once."""

    def __init__(self, folder: Path, n: int) -> None:
        self.folder, self.left, self.real = folder, n, Path.replace

    def __call__(self, path: Path, target: Path) -> Path:
        mine = self.folder in path.parents and not path.name.startswith(".")
        mine = mine and (".making" in path.parts or ".making" in Path(target).parts)
        self.left -= mine
        if mine and self.left == -1:
            raise OSError(28, "No space left on device")
        return self.real(path, target)


@pytest.mark.parametrize("n", range(1, 9))
def test_an_old_set_comes_back_whole_when_the_disk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, richer(4))
    before = collected(folder)
    failing = Failing(folder, n)
    monkeypatch.setattr(Path, "replace", lambda path, target: failing(path, target))
    with pytest.raises(UsageError, match="No space left"):
        dataset_folder.write_dataset(folder, richer(5))
    assert failing.left < 0, "it failed"
    assert collected(folder) == before
    dataset_folder.write_dataset(folder, richer(5))


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("again", [True, False])
def test_a_set_that_was_being_replaced_by_a_killed_process_is_whole_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, again: bool
) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, richer(4))
    before = collected(folder)
    with monkeypatch.context() as patch:
        failing = Failing(folder, n)
        patch.setattr(Path, "replace", lambda path, target: failing(path, target))
        patch.setattr(dataset_folder, "_move_back", lambda *_: None)  # it had no time to
        with pytest.raises(UsageError):
            dataset_folder.write_dataset(folder, richer(5))
    assert collected(folder) != before
    if again:
        dataset_folder.write_dataset(folder, richer(5))
        dataset_folder.write_dataset(tmp_path / "fresh", richer(5))
        assert collected(folder) == collected(tmp_path / "fresh")
        return
    with pytest.raises(DataError):
        dataset_folder.write_dataset(
            folder,
            dataclasses.replace(
                suite(),
                provenance=dataclasses.replace(
                    suite().provenance, export=SetExport(write_extra_files=_breaks)
                ),
            ),
        )
    assert before.items() <= collected(folder).items()


def killed(folder: Path, made: tm.Suite, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a set, and die when n files have been moved: nothing is put back or cleared away."""
    with monkeypatch.context() as patch:
        failing = Failing(folder, n)
        patch.setattr(Path, "replace", lambda path, target: failing(path, target))
        patch.setattr(dataset_folder, "_move_back", lambda *_: None)
        patch.setattr(dataset_folder, "_remove_folder", lambda *_: None)
        clear = shutil.rmtree
        patch.setattr(shutil, "rmtree",
                      lambda path, **_: None if failing.left < 0 else clear(path, **_))  # fmt: skip
        with pytest.raises(UsageError):
            dataset_folder.write_dataset(folder, made)
    assert failing.left < 0, "it failed"


@pytest.mark.parametrize("n", range(8))  # seven files and the manifest
def test_a_first_make_that_was_killed_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    folder = tmp_path / "made"
    killed(folder, richer(5), n, monkeypatch)
    (folder / "own.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"own\.txt"):
        dataset_folder.write_dataset(folder, richer(2))
    assert (folder / "own.txt").read_text() == "mine"
    (folder / "own.txt").unlink()
    killed(folder, richer(5), n, monkeypatch)
    dataset_folder.write_dataset(folder, richer(2))
    dataset_folder.write_dataset(tmp_path / "fresh", richer(2))
    assert collected(folder) == collected(tmp_path / "fresh")


@pytest.mark.parametrize("n", range(1, 14))
def test_a_killed_remake_leaves_nothing_in_the_way_of_another_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, richer(4))
    killed(folder, richer(5), n, monkeypatch)
    dataset_folder.write_dataset(folder, suite(2))
    dataset_folder.write_dataset(tmp_path / "fresh", suite(2))
    assert collected(folder) == collected(tmp_path / "fresh")


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("n", range(1, 8))
def test_a_set_whose_making_was_interrupted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool, n: int
) -> None:
    folder = tmp_path / "made"
    if old:
        dataset_folder.write_dataset(folder, richer(4))
    killed(folder, richer(5), n, monkeypatch)
    with pytest.raises(DataError, match=str(folder)):
        tm.run(suite(), "control/oracle", tasks=folder, log_dir=tmp_path / "runs")


def test_what_fails_leaves_no_empty_folder(tmp_path: Path) -> None:
    breaking = dataclasses.replace(
        suite(),
        provenance=dataclasses.replace(
            suite().provenance, export=SetExport(write_extra_files=_breaks)
        ),
    )
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "new" / "deeper", tmp_path / "there"):
        with pytest.raises(DataError):
            dataset_folder.write_dataset(folder, breaking)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


# --- manifests of strangers --------------------------------------------------------------


def hostile(folder: Path, how: str) -> None:
    path = folder / "manifest.json"
    text = path.read_bytes()
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "deep":
        deep = b"[" * 100_000 + b"]" * 100_000
        path.write_bytes(text.replace(b'"parameters": {', b'"parameters": {"x": ' + deep + b",", 1))
    elif how == "control":
        path.write_bytes(text.replace(b'"tasks.jsonl"', b'"tasks\\u0000.jsonl"', 1))
    else:
        with path.open("wb") as file:
            file.truncate(2**33)


@pytest.mark.parametrize("how", ["pipe", "folder", "deep", "control", "huge"])
def test_a_hostile_manifest_is_refused_at_once(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "made"
    dataset_folder.write_dataset(folder, suite())
    hostile(folder, how)
    for act in (dataset_folder.read_manifest, dataset_folder.verify_dataset):
        with pytest.raises(DataError, match=r"manifest\.json: "):
            act(folder)
    with pytest.raises(DataError, match=r"manifest\.json: "):
        tm.run(suite(), "control/oracle", tasks=folder, log_dir=tmp_path / "runs")
    with pytest.raises(DataError, match=r"manifest\.json: "):
        dataset_folder.write_dataset(folder, suite())


# --- what could not be made --------------------------------------------------------------


def lacking(*ids: str) -> tm.Suite:
    return dataclasses.replace(
        suite(),
        maker=dataclasses.replace(
            suite().maker, failure=lambda task: "no voice | today" if task.id in ids else ""
        ),
    )


def test_what_could_not_be_made_is_counted(tmp_path: Path) -> None:
    first, *others = (task.id for task in suite())
    manifest = dataset_folder.write_dataset(tmp_path / "made", lacking(first))
    assert manifest.n_failed_by_reason == {"no voice | today": 1}
    assert r"| no voice \| today | 1 |" in (tmp_path / "made" / "README.md").read_text()
    with pytest.raises(DataError, match=r"none of 3 tasks could be made: no voice \| today \(3"):
        dataset_folder.write_dataset(tmp_path / "none", lacking(first, *others))
    assert not (tmp_path / "none").exists()


# --- a set is asked as it was made -------------------------------------------------------


def test_a_run_of_a_set_records_the_parameters_of_the_set(tmp_path: Path) -> None:
    made = suite()
    manifest = dataset_folder.write_dataset(tmp_path / "made", made)
    bare = tm.load("funcbench", core=4, depth=2)
    done = tm.run(bare, "control/oracle", tasks=tmp_path / "made", log_dir=tmp_path / "runs")
    assert done.info.seed == 3 and done.info.hashes == manifest.hashes
    wanted = msgspec.json.decode(msgspec.json.encode(made.parameters))
    assert tm.open_run(done.path).info.plan.parameters == wanted
    again = tm.run(made, "control/oracle", tasks=tmp_path / "made", log_dir=tmp_path / "runs")
    assert again.info.plan.hash == done.info.plan.hash


@pytest.mark.parametrize(
    "parameters", [{"seed": 0}, {"core": 5, "depth": 2}, {"depth": 3, "core": 4}]
)
def test_parameters_that_contradict_a_set_are_refused(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    dataset_folder.write_dataset(tmp_path / "made", suite())
    with pytest.raises(UsageError, match=r"was made with (seed=3|core=4|depth=2), not [035]: "):
        tm.run(tm.load("funcbench", **parameters), "control/oracle", tasks=tmp_path / "made",
               log_dir=tmp_path / "runs")  # fmt: skip


def test_a_set_of_another_suite_is_refused(tmp_path: Path) -> None:
    dataset_folder.write_dataset(tmp_path / "made", suite())
    other = dataclasses.replace(suite(), name="other")
    with pytest.raises(DataError, match="a set of suite 'funcbench', not of 'other'"):
        tm.run(other, "control/oracle", tasks=tmp_path / "made", log_dir=tmp_path / "runs")


# --- the command in the card -------------------------------------------------------------


VALUES = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=","), max_size=20)


@given(st.dictionaries(st.sampled_from("abc"), st.lists(VALUES.filter(bool), max_size=3)))
def test_the_command_gives_every_parameter_to_a_shell(parameters: dict[str, list[str]]) -> None:
    words = shlex.split(data_card.make_command("s", parameters, 7))
    assert words[:3] == ["toolmark", "make", "s"]
    said = dict(word.split("=", 1) for flag, word in itertools.pairwise(words) if flag == "-T")
    assert said == {name: ",".join(value) for name, value in parameters.items()}
    assert words[-4:] == ["--seed", "7", "-o", "DIR"]


def test_the_command_in_the_card_makes_the_set_again(tmp_path: Path) -> None:
    suite = tm.load("funcbench", core=4, depth=2, graphs=2, cap="none", efforts="low,high", seed=3)
    dataset_folder.write_dataset(tmp_path / "made", suite)
    reported = (tmp_path / "made" / "README.md").read_text()
    line = next(line for line in reported.splitlines() if line.startswith("toolmark make "))
    words = shlex.split(line, comments=True)
    parameters = dict(
        word.split("=", 1) for flag, word in itertools.pairwise(words) if flag == "-T"
    )
    assert parameters["cap"] == "none" and parameters["transport"] == ""
    again = tm.load(words[2], **parameters, seed=int(words[words.index("--seed") + 1]))
    assert list(again) == list(suite)


def test_backticks_do_not_end_the_block() -> None:
    reported = data_card.render_card(
        name="s",
        description="",
        seed=1,
        parameters={"a": "x\n```\n# y"},
        hashes={},
        publisher=SetExport(),
        files={},
        tables=(),
    )
    assert "````sh\n" in reported and "\n# y" not in reported


@pytest.mark.parametrize(
    ("given", "saved"),
    [
        ("/home/me/private/DEMAND", "DEMAND"),
        ("~/noises/", "noises"),
        ("../up/x.json", "x.json"),
        ("whisper:/home/me/model", "whisper:model"),
        ("http://127.0.0.1:8000/v1#name", "http://127.0.0.1:8000/v1#name"),
        ("https://me:secret@host/v1?key=secret#m", "https://host/v1#m"),
        ("noisy", "noisy"),
        (("/a/b", "c"), ["b", "c"]),
        (3, 3),
    ],
)
def test_where_a_file_lies_is_nobodys_business(given: Any, saved: Any) -> None:
    assert data_card.strip_folders({"x": given}) == {"x": saved}
