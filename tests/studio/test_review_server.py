"""Who may ask, from where, and for what: everything else is refused."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping

import pytest
from tests.studio.conftest import Maker, Served, lines, picture_of

from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.runs.run_store import Run
from toolmark.studio.review_server import MAX_BODY_BYTES, ReviewServer, ReviewSession
from toolmark.studio.run_review import RunReview

Serve = Callable[[ReviewSession], Served]
ACCEPT = {"choice": "accept"}


@pytest.fixture
def run(make_run: Maker) -> Run:
    return make_run(n=3)


@pytest.fixture
def served(run: Run, serve: Serve) -> Served:
    return serve(RunReview(run, "ada"))


def ask(
    served: Served, method: str, path: str, body: bytes | None = None,
    headers: Mapping[str, str] | None = None, *, token: str | None = None,
) -> tuple[http.client.HTTPResponse, bytes]:  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", served.server.server_port, timeout=5)
    word = served.server.token if token is None else token
    connection.request(method, f"/{word}{path}", body, dict(headers or {}))
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    return reply, data


def post(served: Served, path: str, answer: object, **headers: str) -> tuple[int, bytes]:
    given = {"Content-Type": "application/json", "Origin": served.origin}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    reply, data = ask(served, "POST", path, json.dumps(answer).encode(),
                      {name: value for name, value in given.items() if value})  # fmt: skip
    return reply.status, data


def test_it_listens_on_loopback_only(served: Served) -> None:
    assert served.server.server_address[0] == "127.0.0.1"
    assert len(served.server.token) >= 32


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "..", "%2e%2e", "%C3%A9"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_is_served_without_the_token(served: Served, token: str, method: str) -> None:
    for path in ("/", "/1", "/end", "/media/" + "0" * 64):
        reply, data = ask(served, method, path, token=token)
        assert reply.status == 403
        assert b"shelf" not in data
        assert reply.headers["Location"] is None


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil", "", "["]
)
def test_a_name_that_was_made_to_lead_here_is_refused(served: Served, host: str) -> None:
    reply, data = ask(served, "GET", "/1", headers={"Host": host})
    assert reply.status == 403
    assert data == b"not a loopback host"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8123", "LOCALHOST", "[::1]:80"])
def test_loopback_names_are_served(served: Served, host: str) -> None:
    assert ask(served, "GET", "/1", headers={"Host": host})[0].status == 200


@pytest.mark.parametrize(
    "origin", ["", "null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1"]
)
def test_a_decision_must_come_from_a_page_of_ours(served: Served, run: Run, origin: str) -> None:
    assert post(served, "/1", ACCEPT, Origin=origin)[0] == 403
    assert not (run.path / "reviews.jsonl").exists()
    assert post(served, "/1", ACCEPT)[0] == 200


def test_a_form_of_another_page_is_refused(served: Served, run: Run) -> None:
    assert post(served, "/1", ACCEPT, Content_Type="text/plain")[0] == 415
    assert not (run.path / "reviews.jsonl").exists()


def test_every_page_carries_the_policy(served: Served) -> None:
    reply, _ = ask(served, "GET", "/1")
    policy = dict(
        part.split(" ", 1) for part in reply.headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"].startswith("'sha256-")
    assert "unsafe" not in str(policy)
    assert policy["frame-ancestors"] == "'none'"
    for name in ("/", "/1", "/end", "/nothing", "/media/x"):
        headers = ask(served, "GET", name)[0].headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"]
        assert "Python" not in headers["Server"]


def test_pictures_come_by_hash_from_the_run_alone(served: Served, run: Run) -> None:
    shown = picture_of(next(run.tasks()))
    reply, data = ask(served, "GET", f"/media/{shown.sha256}")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "image/png")
    assert data == MediaStore(run.path / "media").read(shown)
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    for name in ("0" * 64, "..%2f..%2frun.json", "../../run.json", shown.sha256[:-1], ""):
        reply, data = ask(served, "GET", f"/media/{name}")
        assert reply.status == 404
        assert b"format" not in data


def test_a_page_among_the_pictures_is_not_served_as_one(served: Served, run: Run) -> None:
    foul = MediaStore(run.path / "media").add_image(b"<script>alert(1)</script>", "text/html")
    reply, data = ask(served, "GET", f"/media/{foul.sha256}")
    assert reply.status == 415
    assert reply.headers["Content-Type"].startswith("text/plain")
    assert b"script" not in data


def test_a_picture_that_was_changed_is_not_served(served: Served, run: Run) -> None:
    shown = picture_of(next(run.tasks()))
    (run.path / "media" / shown.sha256[:2] / shown.sha256).write_bytes(b"\x89PNG\r\n\x1a\nother")
    assert ask(served, "GET", f"/media/{shown.sha256}")[0].status == 404


@pytest.mark.parametrize("place", ["/0", "/4", "/-1", "/1e3", "/١", "/99999999999", "/1/x", "/x"])
def test_places_that_are_none_are_not_found(served: Served, place: str) -> None:
    path = place if place.isascii() else "/%D9%A1"
    assert ask(served, "GET", path)[0].status == 404
    assert post(served, path, ACCEPT)[0] == 404


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ([], 400), ({"choice": 1}, 400), ({}, 400), ({"choice": "accept", "more": 1}, 400),
        ({"choice": "perhaps"}, 422), ({"choice": "edit", "steps": "["}, 422),
        ({"choice": "edit", "steps": "[" * 100_000}, 422),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(
    served: Served, run: Run, answer: object, status: int
) -> None:
    assert post(served, "/1", answer)[0] == status
    assert not (run.path / "reviews.jsonl").exists()


@pytest.mark.parametrize(
    "length", [str(MAX_BODY_BYTES + 1), "0" * 12 + str(2**40), "-1", "x", "1" * 400]
)
def test_a_giant_or_unmeasured_body_is_not_read(served: Served, length: str) -> None:
    headers = {"Content-Type": "application/json", "Origin": served.origin,
               "Content-Length": length}  # fmt: skip
    assert ask(served, "POST", "/1", None, headers)[0].status == 413


def test_a_full_disk_is_reported_and_nothing_is_destroyed(served: Served, run: Run) -> None:
    assert post(served, "/1", ACCEPT)[0] == 200
    with (run.path / "reviews.jsonl").open("a") as file:
        file.write("{}\n")
    status, data = post(served, "/2", ACCEPT)
    assert status == 500
    assert b"reviews.jsonl, line 2" in data
    assert lines(run.path / "reviews.jsonl")[0]["task"] == "00000000"


def test_a_port_that_is_taken_is_said(served: Served, run: Run) -> None:
    with pytest.raises(UsageError, match="choose another --port"):
        ReviewServer(RunReview(run, "ada"), served.server.server_port)


def test_nothing_is_written_to_the_terminal(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    ask(served, "GET", "/1")
    ask(served, "BREW", "/1")
    post(served, "/1", ACCEPT)
    said = capfd.readouterr()
    assert said.out + said.err == ""
