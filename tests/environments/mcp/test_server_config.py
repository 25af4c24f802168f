"""Configurations of other hosts are read; what is wrong is said with its place, keys never."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.core import secrets
from toolmark.core.errors import DataError
from toolmark.environments.mcp.server_config import (
    REDACTED,
    ServerConfig,
    parse_config,
    read_config,
)
from toolmark.environments.mcp.server_launch import (
    ServerLaunch,
    describe_missing,
    prepare_launch,
    server_secrets,
)

KEY = "sk-very-private-1234"


def one(entry: dict[str, Any]) -> ServerConfig:
    (server,) = parse_config({"mcpServers": {"s": entry}}, "x.json")
    return server


def test_a_configuration_of_another_host_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        json.dumps(
            {
                "mcpServers": {
                    "time": {"command": "uvx", "args": ["mcp-server-time"], "autoApprove": ["x"]},
                    "web": {"type": "http", "url": "https://a.example/mcp", "_comment": "hello"},
                }
            }
        )
    )
    time, web = read_config(path)
    assert (time.name, time.command, time.args) == ("time", "uvx", ("mcp-server-time",))
    assert time.stateful and not web.stateful
    assert (time.start_timeout_s, time.call_timeout_s) == (30.0, 60.0)
    path.write_text(path.read_text().replace("mcpServers", "servers"))
    assert read_config(path) == (time, web)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n  'a' 1}", r"mcp\.json:2:3: not JSON"),
        ("[]", "expected an object with the key mcpServers, not an array"),
        ("{}", "expected one of the keys mcpServers, .*; there is no key"),
        ('{"servers": {}, "mcpServers": {}}', "there is both"),
        ('{"mcpServers": []}', "mcpServers: expected an object, not an array"),
        ('{"mcpServers": {"a": {"url": "http://x"}, "a": {}}}', "the key 'a' appears twice"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        read_config(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([], r"mcpServers\.s: expected an object, not an array"),
        ({}, "expected one of command, url, python, npm; there is none of them"),
        ({"command": "a", "url": "http://b"}, "there is command and url"),
        ({"command": "a", "args": "b"}, r"\.args: expected array"),
        (
            {"command": "a", "args": ["b", KEY, 3]},
            r"\.args\[2\]: expected str, got int",
        ),
        ({"command": "a", "env": {"KEY": 7}}, r"\.env\[.*\]: expected str"),
        ({"command": "a", "call_timout_s": 3}, "'call_timout_s'; did you mean: call_timeout_s"),
        ({"command": "a", "call_timeout_s": 0}, "call_timeout_s: expected seconds, more than 0"),
        ({"command": "a", "stateful": KEY}, r"\.stateful: expected bool \| null, got str"),
        ({"url": f"ftp://{KEY}"}, r"url: expected an address"),
        ({"url": "http://a", "type": "stdio"}, "type 'stdio' does not go with url"),
        ({"command": "a", "type": "sse"}, "type 'sse' does not go with command"),
        ({"command": "a", "concurrency": -1}, "concurrency: expected 0 or more"),
        ({"command": "a\0"}, "NUL"),
    ],
)
def test_an_entry_that_is_wrong_is_named_with_its_place_and_without_its_values(
    entry: Any, said: str
) -> None:
    with pytest.raises(DataError, match=said) as caught:
        parse_config({"mcpServers": {"s": entry}}, "x.json")
    assert str(caught.value).startswith("x.json: mcpServers.s")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/b", "a b"])
def test_a_name_with_a_slash_would_blur_server_and_tool(name: str) -> None:
    with pytest.raises(DataError, match="no slash"):
        parse_config({"mcpServers": {name: {"command": "a"}}}, "x.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
KEYS = st.sampled_from(["command", "args", "env", "url", "headers", "needs", "python", "cwd"])


@given(
    JSON
    | st.fixed_dictionaries(
        {"mcpServers": st.dictionaries(st.text(), st.dictionaries(KEYS | st.text(), JSON))}
    )
)
def test_any_json_is_read_or_refused(found: Any) -> None:
    try:
        servers = parse_config(found, "x.json")
    except DataError:
        return
    assert all(isinstance(server, ServerConfig) for server in servers)


def test_placeholders_are_filled_from_the_environment_and_the_workspace() -> None:
    server = one(
        {
            "command": sys.executable,
            "args": ["${workspace}/a", "${PLACE:-home}", "${OTHER}"],
            "env": {"WHERE": "${workspace}"},
            "cwd": "${workspace}/sub",
        }
    )
    environ = {"OTHER": "there", "PATH": os.environ["PATH"], "UNRELATED_KEY": KEY}
    filled = prepare_launch(server, Path("/w"), environ)
    assert filled.argv[1:] == ("/w/a", "home", "there")
    assert (filled.cwd, filled.env["WHERE"]) == ("/w/sub", "/w")
    assert KEY not in filled.env.values()  # only what the server is meant to have


def test_a_relative_folder_is_taken_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"s": {"command": "a", "cwd": "sub"}}}')
    assert read_config(path)[0].cwd == str(tmp_path.resolve() / "sub")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "no-such-command-at-all"}, "no such command: no-such-command-at-all"),
        ({"command": sys.executable, "needs": ["NO_KEY"]}, "not set in the environment: NO_KEY"),
        ({"command": sys.executable, "env": {"A": "${NO_KEY}"}}, "not set .*: NO_KEY"),
        ({"url": "http://a", "headers": {"X": "Bearer ${NO_KEY}"}}, "not set .*: NO_KEY"),
        ({"command": sys.executable, "disabled": True}, "disabled"),
        ({"python": "no-such-environment"}, "no-such-environment"),
    ],
)
def test_what_a_server_lacks_is_found_before_it_is_started(
    entry: dict[str, Any], said: str
) -> None:
    server = one(entry)
    found = describe_missing(server, {"PATH": os.environ["PATH"], "NO_KEY": ""})
    assert re.search(said, found)
    assert not describe_missing(one({"command": sys.executable, "env": {"A": "${B:-c}"}}))


def test_keys_are_blanked_and_not_shown() -> None:
    server = one(
        {
            "command": sys.executable,
            "env": {"THE_TOKEN": KEY, "MODE": "production"},
            "headers": {},
            "needs": ["NEEDED"],
            "args": ["--key", "${MY_SECRET}", "${HOME}"],
        }
    )
    environ = {"NEEDED": "needed-9876", "MY_SECRET": "shh-5555", "HOME": "/home/me", "PATH": ""}
    filled = prepare_launch(server, Path("/w"), environ | {"PATH": os.environ["PATH"]})
    said = filled.redact_secrets(f"{KEY} needed-9876 shh-5555 production /home/me")
    assert said == f"{REDACTED} {REDACTED} {REDACTED} production /home/me"
    for shown in (repr(server), repr(filled)):
        assert not any(secret in shown for secret in (KEY, "needed-9876", "shh-5555"))


WIKI, PASSWORD = "wk-7731-AbC", "hunter2hunter2"
ENVIRON = {"WIKI": WIKI, "DBPW": PASSWORD, "PATH": os.environ["PATH"], "HOME": "/home/me"}


@pytest.mark.parametrize(
    ("entry", "secret"),
    [
        ({"url": "http://a", "headers": {"Authorization": "Bearer ${WIKI}"}}, WIKI),
        ({"url": "http://a", "headers": {"Authorization": f"Bearer {WIKI}"}}, WIKI),
        ({"url": "http://a", "headers": {"X-Own": f"id=7; session={WIKI}"}}, f"session={WIKI}"),
        ({"url": "http://a", "headers": {"Cookie": f"a=7; token={WIKI}"}}, WIKI),
        ({"url": f"http://a/mcp?apiKey={WIKI}"}, WIKI),
        ({"url": f"http://a/mcp?apiKey={WIKI}&x=1"}, WIKI),
        ({"url": "http://a/mcp?k=${WIKI}"}, WIKI),
        ({"url": f"http://me:{PASSWORD}@a/mcp"}, PASSWORD),
        ({"url": f"https://{WIKI}@a/mcp"}, WIKI),
        ({"url": "https://a/s/1234abcd5678efgh9012/mcp"}, "1234abcd5678efgh9012"),
        ({"command": sys.executable, "args": ["--api-key", WIKI]}, WIKI),
        ({"command": sys.executable, "args": [f"--api-key={WIKI}"]}, WIKI),
        ({"command": sys.executable, "args": ["--password", PASSWORD]}, PASSWORD),
        ({"command": sys.executable, "args": ["-e", f"GITHUB_PAT={WIKI}"]}, WIKI),
        ({"command": sys.executable, "args": ["--header", f"Authorization: Bearer {WIKI}"]}, WIKI),
        ({"command": sys.executable, "args": ["${WIKI}"]}, WIKI),
        ({"command": sys.executable, "args": [f"postgres://me:{PASSWORD}@db/x"]}, PASSWORD),
        ({"command": sys.executable, "args": ["--api-key", "${NONE:-" + WIKI + "}"]}, WIKI),
        ({"command": sys.executable, "env": {"GITHUB_PAT": "plain"}}, "plain"),
        ({"command": sys.executable, "env": {"DB_PW": "plain"}}, "plain"),
        ({"command": sys.executable, "env": {"MY_DSN": "plain"}}, "plain"),
        ({"command": sys.executable, "env": {"AUTHORIZATION": "plain"}}, "plain"),
        ({"command": sys.executable, "env": {"ODD": WIKI}}, WIKI),
        ({"command": sys.executable, "env": {"DB_URL": "postgres://me:${DBPW}@db/x"}}, PASSWORD),
        ({"command": sys.executable, "env": {"DB_URL": f"mysql://me:{PASSWORD}@db"}}, PASSWORD),
        ({"command": sys.executable, "env": {"DB": "Server=db;Password=secretive;"}}, "secretive"),
        ({"command": sys.executable, "env": {"CFG": '{"apiKey": "secretive"}'}}, "secretive"),
        ({"command": sys.executable, "needs": ["WIKI"]}, WIKI),
    ],
)
def test_a_key_is_hidden_wherever_it_stands(entry: dict[str, Any], secret: str) -> None:
    server = one(entry)
    for known in (
        prepare_launch(server, Path("/w"), ENVIRON).redact_secrets,
        cleaned(server_secrets(server, ENVIRON)),
    ):
        assert known(f"it is {secret}, I say") == f"it is {REDACTED}, I say"
    (unable,) = parse_config({"mcpServers": {"s": {**entry, "needs": ["NONE", "WIKI"]}}}, "x.json")
    assert describe_missing(unable, ENVIRON) and secret in server_secrets(unable, ENVIRON)


def cleaned(texts: tuple[str, ...]) -> Callable[[str], str]:
    return ServerLaunch((), {}, "", "", {}, texts).redact_secrets


def test_what_is_no_key_is_shown() -> None:
    server = one(
        {
            "command": sys.executable,
            "args": [
                "--max-tokens", "8080", "--no-auth", "serve", "--root=/usr/share", "${HOME}",
                "mcp-server-git@2026.7.10",
            ],
            "env": {
                "MODE": "production", "DEBUG": "true", "PORT": "${PORT}", "WHO": "Robin Example",
                "MAIL": "robin@example.org", "DATE": "1767603600 +0000", "TZ": "Europe/Berlin",
                "DATA": "${DATA}", "WHERE": "${workspace}/a1b2c3", "PROXY": "http://127.0.0.1:9",
                "OUT": "./out", "REGION": "eu-west-1", "KEY_FILE": "${workspace}/key.txt",
                "PYTHONPATH": "/usr/lib:/usr/share", "NONE": "", "DB": "postgres://postgres@db/x",
            },
        }
    )  # fmt: skip
    assert server_secrets(server, ENVIRON | {"PORT": "8080", "DATA": "/usr/share"}) == ()
    page = one({"url": "https://a.example/mcp?mode=fast", "headers": {"Accept": "text/html, a/b"}})
    assert server_secrets(page, ENVIRON) == ()


def test_a_key_is_hidden_as_json_and_addresses_write_it() -> None:
    key = 'k"ey/ö-77'
    server = one({"command": sys.executable, "env": {"A_KEY": key}})
    clean = prepare_launch(server, Path("/w"), ENVIRON).redact_secrets
    for said in (key, json.dumps(key)[1:-1], quote(key, safe="")):
        assert clean(f"<{said}>") == f"<{REDACTED}>"


@given(st.text(), st.text())
@example("KEY", "\ud800\udcff key")
def test_any_configuration_has_its_secrets_found(name: str, value: str) -> None:
    server = ServerConfig(
        name="s", command="x", args=(name, value, f"{name}={value}"), env={name: value},
        headers={name: value}, url=f"http://{value}",
    )  # fmt: skip
    found = server_secrets(server, {})
    assert len(value) < 4 or name.lower() in secrets.PUBLIC_HEADERS or value in found
    assert all(len(text) >= 4 for text in found)


def test_a_longer_key_is_not_half_blanked_by_a_shorter_one() -> None:
    filled = ServerLaunch((), {}, "", "", {}, ("abcd-efgh", "abcd"))
    assert filled.redact_secrets("abcd-efgh abcd") == f"{REDACTED} {REDACTED}"


def test_a_server_survives_the_disk() -> None:
    server = one({"command": "a", "env": {"B": "c"}, "needs": ["D"]})
    assert msgspec.json.decode(msgspec.json.encode(server), type=ServerConfig) == server


def test_a_pipe_is_no_file_and_is_not_waited_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mcp.json")
    with pytest.raises(DataError, match=r"mcp\.json: not a file"):
        read_config(tmp_path / "mcp.json")
