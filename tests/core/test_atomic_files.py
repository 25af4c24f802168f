"""Files are written whole: who writes the same one at the same time loses nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import toolmark
from toolmark.core.files import atomic_file, write_atomically
from toolmark.models import request_policies

CLASH = """
import os, sys
from pathlib import Path
os.getpid = lambda: 7  # as the first process of every container has it
from toolmark.models.request_policies import CacheEntry, _read_entry, _write_entry
from toolmark.runs import record_files
from toolmark.core.records import Reply
folder, me, gate = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
(gate / str(me)).touch()
while len(list(gate.iterdir())) < 2:
    pass
lost = 0
for n in range(400):
    try:
        reply = Reply(text=f"{me} {n} " + "x" * 50_000)
        _write_entry(folder / "cache" / f"{n % 40}", CacheEntry(reply))
        record_files.write_document(folder / f"{n % 4}.json", {"who": me, "text": "y" * 50_000})
    except Exception as error:
        lost += 1
        print(repr(error), file=sys.stderr)
print(lost)
"""


def test_processes_of_equal_ids_write_every_entry_whole(tmp_path: Path) -> None:
    """Two containers on one shared folder, each with the process id 7."""
    gate = tmp_path / "gate"
    gate.mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", CLASH, tmp_path, str(me), gate],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for me in range(2)
    ]  # fmt: skip
    reported = [writer.communicate() for writer in writers]
    assert [out.strip() for out, _ in reported] == ["0", "0"], reported
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == sorted(
        map(str, range(40))
    )
    assert all(
        request_policies._read_entry(path) is not None for path in (tmp_path / "cache").iterdir()
    )
    assert all(
        len(json.loads((tmp_path / f"{n}.json").read_text())["text"]) == 50_000 for n in range(4)
    )
    assert not list(tmp_path.rglob(".*"))


def test_threads_that_write_one_file_leave_one_of_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [bytes([n]) * 200_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write_atomically, path, text) for text in texts * 20]:
            done.result()
            assert path.read_bytes() in texts
    assert [*tmp_path.iterdir()] == [path]


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


def test_a_folder_in_the_place_of_the_file_is_an_error_and_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "file", b"x")
    assert [each.name for each in tmp_path.rglob("*")] == ["file"]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_whatever_writes_a_file_whole_does_it_in_one_way() -> None:
    """A name by process id, or another hand-written draft, is how writes were lost."""
    source = Path(toolmark.__file__).parent
    named = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(
            r"with_(name|suffix)\(.*getpid|mkstemp|os\.(replace|rename)\((?!.*_dir_fd=)|\bdraft\.replace\(",
            path.read_text(),
        )
    }
    assert named == {"core/files.py"}
