"""TFRecord files: what was written is read; what was cut or changed is told, with its place."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.suites.multinet.openx.openx_files import crc32c, framed, masked

from toolmark.core.errors import DataError
from toolmark.suites.multinet.openx import tfrecord

quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def test_the_checksum_is_the_published_one() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert tfrecord.masked_crc32c(b"123456789") == masked(b"123456789")


@quick
@given(datas=st.lists(st.binary(max_size=200), max_size=6))
def test_what_was_written_is_read_whole_and_by_offset(tmp_path: Path, datas: list[bytes]) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"".join(map(framed, datas)))
    found = list(tfrecord.read_records(path))
    assert [data for _, data in found] == datas
    assert all(tfrecord.read_record(path, offset) == data for offset, data in found)


@quick
@given(data=st.data())
def test_no_changed_bit_and_no_cut_goes_unseen(tmp_path: Path, data: st.DataObject) -> None:
    path, whole = tmp_path / "records", framed(b"first") + framed(b"the second record")
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    second = len(framed(b"first"))
    path.write_bytes(changed)
    with pytest.raises(DataError, match=f"records: byte {second if at >= second else 0}: "):
        list(tfrecord.read_records(path))
    path.write_bytes(whole[:at])
    if at in (0, second):
        assert len(list(tfrecord.read_records(path))) == (at == second)
    else:
        with pytest.raises(DataError, match="ends within a record"):
            list(tfrecord.read_records(path))


def test_a_length_that_lies_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "records"
    for length in (2**63, tfrecord.MAX_RECORD_BYTES + 1, tfrecord.MAX_RECORD_BYTES):
        head = struct.pack("<Q", length)
        path.write_bytes(head + masked(head) + b"few")
        with pytest.raises(DataError, match=r"at most|ends within"):
            list(tfrecord.read_records(path))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "nothing", "."):
        with pytest.raises(DataError, match=r"not a file|cannot read"):
            list(tfrecord.read_records(tmp_path / name))
    (tmp_path / "short").write_bytes(framed(b"one"))
    with pytest.raises(DataError, match="ends within"):
        tfrecord.read_record(tmp_path / "short", 10**6)
