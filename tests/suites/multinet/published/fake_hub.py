"""A hub on loopback: one data set of one Parquet file, as far as its libraries ask for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from threading import Thread
from urllib.parse import unquote, urlsplit

SHA = "a" * 40


@contextmanager
def serving(name: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Serve the files of a data set, whatever the revision; the address is returned."""
    about = {"_id": "1", "id": name, "sha": SHA, "private": False, "tags": [], "downloads": 0,
             "likes": 0, "siblings": [{"rfilename": path} for path in files]}  # fmt: skip

    def found(path: str) -> bytes | None:
        if path.startswith(f"/api/datasets/{name}/revision/"):
            return json.dumps(about).encode()
        if path.startswith(f"/api/datasets/{name}/tree/{SHA}"):
            below = path.partition(SHA)[2].strip("/")
            folders = {str(place) for file in files for place in PurePosixPath(file).parents}
            collected = [("directory", place, b"") for place in sorted(folders - {".", below})]
            collected += [("file", file, data) for file, data in files.items()]
            return json.dumps([
                {"type": kind, "path": place, "size": len(data), "oid": _oid(data)}
                for kind, place, data in collected if place.startswith(below)
            ]).encode()  # fmt: skip
        return files.get(path.removeprefix(f"/datasets/{name}/resolve/{SHA}/"))

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            body = found(unquote(urlsplit(self.path).path))
            self.send_response(404 if body is None else 200)
            if body is None:
                self.send_header("X-Error-Code", "EntryNotFound")
            else:
                self.send_header("ETag", f'"{_oid(body)}"')
                self.send_header("X-Repo-Commit", SHA)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _oid(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
