"""What the hub has is kept in the published layout; of the rest it is told where it is had."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.suites.multinet.published import fake_hub, layouts
from typer.testing import CliRunner

from toolmark.cli.app import app
from toolmark.cli.preparation_commands import FETCHERS
from toolmark.core.errors import DataError, UsageError
from toolmark.core.user_modules import import_attribute
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES
from toolmark.suites.multinet.published import hub_download, piqa


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Rows as the hub gives them, without ids; PIQA has as many of them here."""
    found = layouts.piqa(100)
    for row in found:
        del row["id"], row["line_id"]
    found[7].update(found[6])  # twice the same row
    monkeypatch.setattr(piqa, "N_TRAIN", len(found))
    return found


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """A hub that answers, in place of the libraries; it returns what it was asked."""
    asked: list[Any] = []

    def load(name: str, **options: Any) -> list[dict[str, Any]]:
        asked.append((name, options))
        return rows

    def info(self: object, name: str, revision: str, timeout: float) -> SimpleNamespace:
        asked.append((name, revision))
        return SimpleNamespace(sha="abc")

    class HubError(OSError):
        pass

    modules: dict[str, dict[str, Any]] = {
        "datasets": {"load_dataset": load},
        "huggingface_hub": {"HfApi": type("HfApi", (), {"dataset_info": info})},
        "huggingface_hub.errors": {"HfHubHTTPError": HubError},
    }
    for name, collected in modules.items():
        module = ModuleType(name)
        module.__dict__.update(collected)
        monkeypatch.setitem(sys.modules, name, module)
    yield asked


def test_piqa_is_stored_in_the_published_layout(
    tmp_path: Path, rows: list[dict[str, Any]], served: list[Any]
) -> None:
    home = hub_download.piqa(tmp_path)
    assert home == tmp_path / "multinet/piqa" and hub_download.piqa(tmp_path) == home
    assert served == [
        ("ybisk/piqa", "refs/convert/parquet"),
        ("ybisk/piqa", {"split": "train", "revision": "abc"}),
    ]  # asked once in all
    test, train = (list(piqa.rows(home, split=split, seed=0)) for split in ("test", "train"))
    assert len(test) == 20 and len(train) == 80
    saved = {frame.fields["goal"]: frame.truth for frame in test}
    assert saved == {rows[at]["goal"]: rows[at]["label"] for at in piqa.published_positions(100)}
    assert len({frame.id for frame in (*test, *train)}) == 100
    assert list((tmp_path / "multinet").iterdir()) == [home]


def test_ids_hang_on_no_order(
    tmp_path: Path, rows: list[dict[str, Any]], served: list[Any]
) -> None:
    one = hub_download.piqa(tmp_path / "one")
    rows.reverse()
    two = hub_download.piqa(tmp_path / "two")
    collected = [
        {f.id: f.fields["goal"] for split in ("test", "train")
         for f in piqa.rows(home, split=split, seed=0)}
        for home in (one, two)
    ]  # fmt: skip
    assert collected[0] == collected[1]


@pytest.mark.parametrize(
    ("change", "why"),
    [({"label": -1}, "row 3: label -1, not 0 or 1"), ({"goal": None}, "row 3: goal: expected str"),
     ({"label": None}, "row 3: label None")],
)  # fmt: skip
def test_what_is_not_piqa_is_not_stored(
    tmp_path: Path, rows: list[dict[str, Any]], served: list[Any], change: Any, why: str
) -> None:
    rows[3].update(change)
    with pytest.raises(DataError, match=why):
        hub_download.piqa(tmp_path)
    rows[3].update(layouts.piqa(4)[3])
    rows.pop()
    with pytest.raises(DataError, match="99 rows; PIQA's training file has 100"):
        hub_download.piqa(tmp_path)
    assert not (tmp_path / "multinet").exists()


def test_without_the_library_the_next_step_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"pip install -e .*\[multinet-hub\]"):
        hub_download.piqa(tmp_path)


def test_without_the_hub_the_next_step_is_printed(
    tmp_path: Path, served: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str, **options: Any) -> None:
        raise ConnectionError("Couldn't reach it\nTraceback and so on")

    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", load)
    with pytest.raises(UsageError, match=r"Couldn't reach it\. Try again where .*piqa/public"):
        hub_download.piqa(tmp_path)


def test_a_local_data_set_is_read_by_the_library(
    tmp_path: Path, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets", reason="needs toolmark[multinet-hub]")
    layouts.lines(tmp_path / "set/train.jsonl", rows)
    home = hub_download.piqa(tmp_path / "home", str(tmp_path / "set"))
    found = {f.fields["goal"]: f.truth for f in piqa.rows(home, split="test", seed=0)}
    assert found == {rows[at]["goal"]: rows[at]["label"] for at in piqa.published_positions(100)}


FETCH = """
import sys
from pathlib import Path
from toolmark.suites.multinet.published import hub_download, piqa
piqa.N_TRAIN = 100
hub_download.piqa(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("reached", [True, False])
def test_the_library_reads_a_hub(tmp_path: Path, rows: list[dict[str, Any]], reached: bool) -> None:
    pytest.importorskip("datasets", reason="needs toolmark[multinet-hub]")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    files = {"plain_text/train/0000.parquet": (tmp_path / "rows.parquet").read_bytes()}
    with fake_hub.serving(hub_download.PIQA_DATASET if reached else "some/other", files) as address:
        own = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "hf")}
        done = subprocess.run(
            [sys.executable, "-c", FETCH, str(tmp_path / "home")],
            env={**os.environ, **own}, capture_output=True, text=True,
        )  # fmt: skip
    if not reached:
        assert "UsageError: ybisk/piqa: the Hugging Face hub did not give it" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = piqa.rows(tmp_path / "home/multinet", split="test", seed=0)
    saved = {frame.fields["goal"]: frame.truth for frame in found}
    assert saved == {rows[at]["goal"]: rows[at]["label"] for at in piqa.published_positions(100)}


def test_the_source_of_what_is_on_no_hub_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [name for name in FETCHERS if name.startswith("multinet-")]
    assert len(mine) == 7
    for name in mine:
        get = import_attribute(FETCHERS[name])
        if name in ("multinet-bfcl", "multinet-overcooked"):  # read from packages
            continue
        if name == "multinet-piqa":
            assert get is hub_download.piqa
            continue
        with pytest.raises(UsageError, match=rf"{name} stands on no hub.*https://.*DIR"):
            get()
        said = CliRunner().invoke(app, ["fetch", name])
        if name == "multinet-openx":  # of one robot the shape must be said
            assert "-T data=DIR -T morphology=bimanual" in str(said.exception)
            assert f"{MORPHOLOGIES['bimanual'].published} DIR" in str(said.exception)
        assert isinstance(said.exception, UsageError)
