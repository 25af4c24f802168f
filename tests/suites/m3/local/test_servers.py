"""The servers of `m3-local`, as they are: real processes, spoken to with no SDK in between."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from toolmark.core.errors import DataError
from toolmark.environments.mcp import server_config, server_launch, server_packages
from toolmark.suites.m3.local import server_configuration

PINS = server_packages.read_pinned_environments()
pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("installed")]


class Client:
    """A plain client over stdio, with no SDK: one request, one answer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.n = process, 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.n += 1
        self.say({"id": self.n, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)  # so nothing else may stand on stdout
            if answer.get("id") == self.n and "method" not in answer:
                assert "error" not in answer, answer
                return dict(answer["result"])
        raise AssertionError(f"no answer to {method}")

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def call(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        answer = self.ask("tools/call", name=name, arguments=arguments)
        assert not answer.get("isError"), answer
        return list(answer["content"])


TOOLS = {
    "barcode": 3, "calculator": 1, "excel": 46, "filesystem": 14, "git": 12, "image": 9,
    "memory": 9, "ocr": 5, "powerpoint": 37, "sqlite": 6, "time": 2,
}  # fmt: skip


@contextmanager
def started(name: str, workspace: Path) -> Iterator[Client]:
    """Start a server as the suite does; it must offer the tools that its version has."""
    found = {
        one.name: one
        for one in server_config.parse_config(server_configuration.SERVER_CONFIG, "m3-local")
    }
    launch = server_launch.prepare_launch(found[name], workspace)
    with (
        (workspace.parent / f"{name}.log").open("w") as log,
        subprocess.Popen(
            launch.argv, env=dict(launch.env), cwd=launch.cwd, text=True, stderr=log,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as process,
    ):  # fmt: skip
        client = Client(process)
        try:
            version = {"protocolVersion": "2025-06-18", "capabilities": {}}
            client.ask("initialize", **version, clientInfo={"name": "test", "version": "1"})
            client.say({"method": "notifications/initialized"})
            tools = client.ask("tools/list")["tools"]
            assert len(tools) == TOOLS[name]
            assert all(tool["inputSchema"]["type"] == "object" for tool in tools)
            yield client
        finally:
            process.kill()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / server_configuration.REPOSITORY_FOLDER).mkdir(parents=True)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    git = [
        "git",
        "-C",
        str(folder / server_configuration.REPOSITORY_FOLDER),
        "init",
        "-q",
        "-b",
        "main",
    ]
    subprocess.run(git, check=True, env=env)
    (folder / server_configuration.REPOSITORY_FOLDER / "a.txt").write_text("one\n")
    (folder / "bars.png").write_bytes(_bars("4006381333931"))
    return folder


def _bars(digits: str) -> bytes:
    """Draw an EAN-13 barcode as a portable bitmap; image libraries go by content, not by name."""
    left = [
        "0001101",
        "0011001",
        "0010011",
        "0111101",
        "0100011",
        "0110001",
        "0101111",
        "0111011",
        "0110111",
        "0001011",
    ]
    flip = str.maketrans("01", "10")
    codes = {
        "L": left,
        "R": [code.translate(flip) for code in left],
        "G": [code.translate(flip)[::-1] for code in left],
    }
    kinds = [
        "LLLLLL",
        "LLGLGG",
        "LLGGLG",
        "LLGGGL",
        "LGLLGG",
        "LGGLLG",
        "LGGGLL",
        "LGLGLG",
        "LGLGGL",
        "LGGLGL",
    ]
    first, rest = int(digits[0]), digits[1:]
    pairs = list(zip(kinds[first] + "RRRRRR", rest, strict=True))
    bits = [codes[kind][int(digit)] for kind, digit in pairs]
    row = "101" + "".join(bits[:6]) + "01010" + "".join(bits[6:]) + "101"
    pixels = bytes(0 if bit == "1" else 255 for bit in "0" * 12 + row + "0" * 12 for _ in range(3))
    height, width = 80, len(pixels)
    return f"P5 {width} {height} 255\n".encode() + pixels * height


def _text(content: list[dict[str, Any]]) -> str:
    return "".join(part.get("text", "") for part in content)


def _usable(name: str) -> None:
    if absent := server_packages.missing_system_packages(PINS[name]):
        pytest.skip(absent)


def test_sums_are_right(workspace: Path) -> None:
    with started("calculator", workspace) as client:
        assert _text(client.call("calculate", expression="7 * 6 + 0.5")) == "42.5"


def test_a_workbook_is_a_file_of_the_workspace(workspace: Path) -> None:
    with started("excel", workspace) as client:
        client.call("create_workbook", path="a.xlsx")
        rows = [["a", 2], ["b", "=B1*21"]]
        client.call("write_range", path="a.xlsx", sheet="Sheet1", at="A1", rows=rows)
        said = json.loads(_text(client.call("read_range", path="a.xlsx", sheet="Sheet1")))
    assert said["values"] == [["a", 2], ["b", 42]]
    assert zipfile.is_zipfile(workspace / "a.xlsx")


def test_a_presentation_is_a_file_of_the_workspace(workspace: Path) -> None:
    with started("powerpoint", workspace) as client:
        client.call("create_presentation", id="d")
        client.call("add_slide", layout_index=1, title="Sales of May", presentation_id="d")
        client.call("save_presentation", file_path="d.pptx", presentation_id="d")
    with zipfile.ZipFile(workspace / "d.pptx") as deck:
        assert b"Sales of May" in deck.read("ppt/slides/slide1.xml")


def test_equal_commits_have_equal_hashes(workspace: Path) -> None:
    said = []
    for _ in range(2):
        shutil.rmtree(workspace / "repo" / ".git")
        subprocess.run(["git", "init", "-q", "-b", "main", workspace / "repo"], check=True)
        with started("git", workspace) as client:
            client.call("git_add", repo_path="repo", files=["a.txt"])
            said.append(_text(client.call("git_commit", repo_path="repo", message="first")))
    assert said[0] == said[1]
    assert re.search("hash [0-9a-f]{40}$", said[0])


def test_rows_written_are_rows_read(workspace: Path) -> None:
    with started("sqlite", workspace) as client:
        client.call("create_table", query="CREATE TABLE t (a INTEGER)")
        client.call("write_query", query="INSERT INTO t VALUES (41), (42)")
        assert _text(client.call("read_query", query="SELECT max(a) AS m FROM t")) == "[{'m': 42}]"
    assert (workspace / server_configuration.DATABASE_FILE).is_file()


def test_what_is_remembered_is_in_the_workspace(workspace: Path) -> None:
    one = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    with started("memory", workspace) as client:
        client.call("create_entities", entities=[one])
        assert "likes tea" in _text(client.call("search_nodes", query="Ada"))
    assert json.loads((workspace / server_configuration.GRAPH_FILE).read_text())["name"] == "Ada"


def test_files_outside_the_workspace_are_refused(workspace: Path) -> None:
    (workspace.parent / "secret.txt").write_text("x")
    with started("filesystem", workspace) as client:
        client.call("write_file", path="b.txt", content="hello")
        refused = client.ask("tools/call", name="read_file", arguments={"path": "../secret.txt"})
    assert (workspace / "b.txt").read_text() == "hello"
    assert refused["isError"]


def test_a_time_is_converted(workspace: Path) -> None:
    asked = {"source_timezone": "Asia/Kolkata", "time": "14:30", "target_timezone": "Asia/Tokyo"}
    with started("time", workspace) as client:
        said = json.loads(_text(client.call("convert_time", **asked)))
    assert said["target"]["datetime"].endswith("T18:00:00+09:00")


def test_an_edited_image_comes_back_as_pixels(workspace: Path) -> None:
    crop = {"x": 0, "y": 0, "width": 40, "height": 30, "output_path": "crop.png"}
    with started("image", workspace) as client:
        picture, *_ = client.call("crop_image", path="bars.png", **crop)
    assert picture["type"] == "image" and picture["mimeType"] == "image/png"
    assert base64.b64decode(picture["data"]) == (workspace / "crop.png").read_bytes()


def test_a_barcode_is_read(workspace: Path) -> None:
    _usable("barcode")
    with started("barcode", workspace) as client:
        said = json.loads(_text(client.call("decode_qrcode_full", image_path="bars.png")))
    assert [(found["type"], found["content"]) for found in said["results"]] == [
        ("EAN13", "4006381333931")
    ]


def test_text_is_read_from_an_image(workspace: Path) -> None:
    _usable("ocr")
    with started("image", workspace) as client:
        canvas = b"P5 600 160 255\n" + b"\xff" * 600 * 160
        (workspace / "page.png").write_bytes(canvas)
        note = {"text": "TOTAL 42", "x": 20, "y": 40, "color": "#000000", "font_size": 60}
        client.call("add_annotation", path="page.png", annotation_type="text",
                    output_path="page.png", **note)  # fmt: skip
    with started("ocr", workspace) as client:
        assert "42" in _text(client.call("perform_ocr", input_data="page.png"))


def test_a_server_that_may_fetch_reaches_no_address(workspace: Path) -> None:
    _usable("ocr")
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as site:
        Thread(target=_answer, args=(site, asked), daemon=True).start()
        address = f"http://127.0.0.1:{site.getsockname()[1]}/bars.png"
        with started("ocr", workspace) as client:
            wanted = {"name": "perform_ocr", "arguments": {"input_data": address}}
            said = client.ask("tools/call", **wanted)
        site.shutdown(socket.SHUT_RDWR)
    assert said["isError"]
    assert not asked


def _answer(site: socket.socket, asked: list[bytes]) -> None:
    with suppress(OSError):
        while True:
            peer, _ = site.accept()
            with peer:
                asked.append(peer.recv(4096))
                peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def test_fetching_tells_what_the_system_still_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = server_configuration.install_servers().splitlines()
    assert said[0].endswith(f"servers  {len(PINS)} servers")
    assert {line.partition(":")[0] for line in said[1:]} >= {"filesystem", "git", "memory", "ocr"}


def test_fetching_tells_why_a_server_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file, where a folder is needed")
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"ready: none(?s:.)*cannot make the environment") as error:
        server_configuration.install_servers()
    assert len(str(error.value).splitlines()) == 1 + len(PINS)
