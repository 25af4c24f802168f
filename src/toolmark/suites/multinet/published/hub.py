"""`toolmark fetch multinet-...`: what can be had from a public hub; of the rest, where it is had.

Of MultiNet's families PIQA alone stands on the Hugging Face hub as rows that can be read without
running a stranger's script. It is loaded through `datasets` and written to the cache in the
published layout, `multinet/piqa/{public,train}/piqa.jsonl`: MultiNet's sample of 20 %, and the
rows that remain for the baselines. Which rows the hub gave is kept by their SHA-256 in the run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from toolmark import fetch as packages
from toolmark import plugin
from toolmark.errors import DataError, UsageError
from toolmark.suites.multinet.published import piqa as layout

PIQA, BRANCH = "ybisk/piqa", "refs/convert/parquet"
"""The data set, and the branch on which the hub keeps it as Parquet: the others need its script."""
_FIELDS = ("goal", "sol1", "sol2", "label")
_REACH_S = 10
_FILE = "piqa.jsonl"

SOURCES: Mapping[str, str] = {
    "sqa3d": "questions and answers: https://zenodo.org/record/7544818 (CC BY 4.0), the files of "
    "sqa_task/balanced; pictures: ScanNet's scenes drawn from above, under the terms of use that "
    "one signs at http://www.scan-net.org. They go into DIR/sqa3d/public",
    "robovqa": "https://robovqa.github.io, or as robo_vqa among the sets of "
    "https://robotics-transformer-x.github.io (CC BY 4.0). A snapshot of MultiNet's becomes a "
    "Parquet file where TensorFlow is, by `python -m toolmark.suites.multinet.openx.export "
    "SNAPSHOT OUT.parquet`; it goes into DIR/openx_multi_embodiment/public",
    "odinw": "https://huggingface.co/GLIPModel/GLIP, folder odinw_35, each sub-set under the "
    "licence in its own README. The boxes of its test annotations are cut out, and go with their "
    "list into DIR/odinw/public/SUBSET",
    "openx": "https://robotics-transformer-x.github.io, each set under the licence that stands "
    "there, such as `gsutil -m cp -r "
    "gs://gresearch/robotics/utokyo_xarm_bimanual_converted_externally_to_rlds DIR`",
}
"""Where the data of the other families are had, and under which licence."""
_SHAPE = {"openx": " -T morphology=bimanual"}  # of the set that is named above


def piqa(folder: Path | None = None, source: str = PIQA) -> Path:
    """Return the folder of PIQA in the published layout, fetching it if need be.

    `folder` is the cache folder; `source` a data set of the hub or a folder that `datasets` reads.
    Raises UsageError with the next step where it cannot be had, DataError where it is not PIQA.
    """
    home = (packages.cache() if folder is None else folder) / "multinet"
    done = home / "piqa"
    if done.is_dir():
        return done
    rows = _checked(_loaded(source), source)
    asked = frozenset(layout.positions(len(rows)))
    parts = {
        "public": [row for at, row in enumerate(rows) if at in asked],
        "train": [row for at, row in enumerate(rows) if at not in asked],
    }
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=home) as part:
            for name, held in parts.items():
                _write(Path(part, "piqa", name), held)
            _publish(Path(part, "piqa"), done)
    except OSError as error:
        raise DataError(f"{home}: cannot keep PIQA: {error}") from None
    return done


def sqa3d() -> NoReturn:
    """Say where SQA3D is had."""
    _elsewhere("sqa3d")


def robovqa() -> NoReturn:
    """Say where RoboVQA is had."""
    _elsewhere("robovqa")


def odinw() -> NoReturn:
    """Say where ODinW is had."""
    _elsewhere("odinw")


def openx() -> NoReturn:
    """Say where Open X-Embodiment is had."""
    _elsewhere("openx")


def _elsewhere(family: str) -> NoReturn:
    command = f"toolmark run multinet-{family} -T data=DIR{_SHAPE.get(family, '')} -m MODEL"
    raise UsageError(
        f"multinet-{family} stands on no hub as it is read here. It is had from {SOURCES[family]}. "
        f"Then: `{command}`; the layout is told in docs/multinet.md. Without the data a synthetic "
        "stand-in is asked"
    )


def _loaded(source: str) -> Iterable[Mapping[str, Any]]:
    """Return the rows of the training split, in the order of its file."""
    try:
        import datasets
        import huggingface_hub as hub
        from huggingface_hub.errors import HfHubHTTPError
    except ModuleNotFoundError as error:
        next_ = plugin.install("multinet-hub")
        raise UsageError(f"the hub is read by {error.name}, which is not here; {next_}") from None
    # the hub's transport differs by version; its errors have one base with the hub's own
    unreached = tuple(kind for kind in HfHubHTTPError.__mro__ if kind not in (Exception, *_ANY))
    try:
        if Path(source).is_dir():
            found = datasets.load_dataset(source, split="train")
        else:  # asked once, for a few seconds: `datasets` itself would try for half a minute
            about = hub.HfApi().dataset_info(source, revision=BRANCH, timeout=_REACH_S)
            found = datasets.load_dataset(source, split="train", revision=about.sha)
    except (OSError, ValueError, RuntimeError, *unreached) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise UsageError(
            f"{source}: the Hugging Face hub did not give it: {why}. Try again where it is reached "
            "(HF_ENDPOINT names a mirror), or put PIQA's train.jsonl and train-labels.lst into "
            "DIR/piqa/public and say -T data=DIR"
        ) from None
    rows: Iterable[Mapping[str, Any]] = found
    return rows


_ANY = (BaseException, object)


def _checked(rows: Iterable[Mapping[str, Any]], source: str) -> list[dict[str, Any]]:
    """Return the rows with ids. Raises DataError for what is not PIQA's training file."""
    held: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        try:
            one = msgspec.convert({name: row.get(name) for name in _FIELDS}, layout.Row)
        except msgspec.ValidationError as error:
            raise DataError(f"{source}: row {number}: {error}") from None
        if one.label not in (0, 1):
            raise DataError(f"{source}: row {number}: label {one.label}, not 0 or 1")
        name = layout.named(one)
        seen[name] = seen.get(name, 0) + 1
        id = name if seen[name] == 1 else f"{name}-{seen[name]}"
        held.append({"id": id, **{name: getattr(one, name) for name in _FIELDS}})
    if len(held) != layout.N_TRAIN:
        raise DataError(f"{source}: {len(held)} rows; PIQA's training file has {layout.N_TRAIN}")
    return held


def _write(folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    folder.mkdir(parents=True)
    with (folder / _FILE).open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")


def _publish(made: Path, done: Path) -> None:
    try:
        made.rename(done)
    except OSError:
        if not done.is_dir():  # otherwise someone else finished the same work first
            raise
