"""Configurations of other hosts are read; what is wrong is said with its place, keys never."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.errors import DataError
from toolmark.worlds.mcp.config import BLANK, Launch, Server, launch, missing, parse, read

KEY = "sk-very-private-1234"


def one(entry: dict[str, Any]) -> Server:
    (server,) = parse({"mcpServers": {"s": entry}}, "x.json")
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
    time, web = read(path)
    assert (time.name, time.command, time.args) == ("time", "uvx", ("mcp-server-time",))
    assert time.stateful and not web.stateful
    assert (time.start_timeout_s, time.call_timeout_s) == (30.0, 60.0)
    path.write_text(path.read_text().replace("mcpServers", "servers"))
    assert read(path) == (time, web)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n  'a': 1}", r"mcp\.json:2:3: not JSON"),
        ("[]", "expected an object with the key mcpServers, not an array"),
        ("{}", "expected one key, mcpServers or servers; there is no key"),
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
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([], r"mcpServers\.s: expected an object, not an array"),
        ({}, "expected one of command, url, python, npm; there is none of them"),
        ({"command": "a", "url": "http://b"}, "there is command and url"),
        ({"command": "a", "args": "b"}, r"Expected `array`.*at `\$\.args`"),
        (
            {"command": "a", "args": ["b", KEY, 3]},
            r"Expected `str`, got `int` - at `\$\.args\[2\]`",
        ),
        ({"command": "a", "env": {"KEY": 7}}, r"at `\$\.env"),
        ({"command": "a", "call_timout_s": 3}, "'call_timout_s'; did you mean: call_timeout_s"),
        ({"command": "a", "call_timeout_s": 0}, "call_timeout_s: expected seconds, more than 0"),
        ({"command": "a", "stateful": KEY}, r"Expected `bool \| null`, got `str`"),
        ({"url": f"ftp://{KEY}"}, r"url: expected an address"),
        ({"url": "http://a", "type": "stdio"}, "type 'stdio' does not go with url"),
        ({"url": "http://a", "type": "sse"}, "use the server's streamable HTTP address"),
        ({"command": "a\0"}, "NUL"),
    ],
)
def test_an_entry_that_is_wrong_is_named_with_its_place_and_without_its_values(
    entry: Any, said: str
) -> None:
    with pytest.raises(DataError, match=said) as caught:
        parse({"mcpServers": {"s": entry}}, "x.json")
    assert str(caught.value).startswith("x.json: mcpServers.s")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/b", "a b"])
def test_a_name_with_a_slash_would_blur_server_and_tool(name: str) -> None:
    with pytest.raises(DataError, match="no slash"):
        parse({"mcpServers": {name: {"command": "a"}}}, "x.json")


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
        servers = parse(found, "x.json")
    except DataError:
        return
    assert all(isinstance(server, Server) for server in servers)


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
    filled = launch(server, Path("/w"), environ)
    assert filled.argv[1:] == ("/w/a", "home", "there")
    assert (filled.cwd, filled.env["WHERE"]) == ("/w/sub", "/w")
    assert KEY not in filled.env.values()  # only what the server is meant to have


def test_a_relative_folder_is_taken_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"s": {"command": "a", "cwd": "sub"}}}')
    assert read(path)[0].cwd == str(tmp_path.resolve() / "sub")


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
    found = missing(server, {"PATH": os.environ["PATH"], "NO_KEY": ""})
    assert re.search(said, found)
    assert not missing(one({"command": sys.executable, "env": {"A": "${B:-c}"}}))


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
    filled = launch(server, Path("/w"), environ | {"PATH": os.environ["PATH"]})
    said = filled.clean(f"{KEY} needed-9876 shh-5555 production /home/me")
    assert said == f"{BLANK} {BLANK} {BLANK} production /home/me"
    for shown in (repr(server), repr(filled)):
        assert not any(secret in shown for secret in (KEY, "needed-9876", "shh-5555"))


def test_a_longer_key_is_not_half_blanked_by_a_shorter_one() -> None:
    filled = Launch((), {}, "", "", {}, ("abcd-efgh", "abcd"))
    assert filled.clean("abcd-efgh abcd") == f"{BLANK} {BLANK}"


def test_a_server_survives_the_disk() -> None:
    server = one({"command": "a", "env": {"B": "c"}, "needs": ["D"]})
    assert msgspec.json.decode(msgspec.json.encode(server), type=Server) == server
