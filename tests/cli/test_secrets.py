"""Wherever a key stands in a command, its environment or an answer, it reaches no file."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

import pytest
from tests.environments.mcp.mcp_episodes import fault
from tests.servers import fake
from tests.servers.planning_endpoint import Command, Mind

pytestmark = pytest.mark.servers

SMALL = ("-T", "core=4", "-T", "depth=2", "-T", "connected=2", "-T", "graphs=2", "--seed", "5")
ONCE = ("--max-retries", "0")
# one of each look: marked by its service, drawn without a mark, with signs that are written anew
KEYS = ("sk-proj-Zx81kfQp20LmWv77TbYe", "q7Wm2Zx9Lk4Vb8Nc3Rt6Hy1P", "9aB+x/3Kd=72LmQ/pW8+vZ1s")


class Case(NamedTuple):
    """A command: its words, the environment it runs in, what the endpoint answers, its exit code.

    In words and values KEY stands for the key, URL for the endpoint, HOST for its host and port.
    """

    name: str
    words: tuple[str, ...]
    environ: dict[str, str]
    code: int
    answer: str = ""
    status: int = 200


def _run(name: str, *words: str, code: int = 0, answer: str = "", status: int = 200,
         **environ: str) -> Case:  # fmt: skip
    return Case(name, ("run", "funcbench", *SMALL, *words), environ, code, answer, status)


NAMED = ("-m", "openai/planner", "--base-url", "URL")
PLAIN = ("-m", "URL#planner")
IN_PATH = ("-m", "http://HOST/KEY/v1#planner")
CASES = (
    _run("the provider's variable", *NAMED, OPENAI_API_KEY="KEY"),
    _run("our variable", *PLAIN, TOOLMARK_API_KEY="KEY"),
    _run("the bearer of a header", *PLAIN, "--header", "Authorization: Bearer KEY"),
    _run("a header of another name", *PLAIN, "--header", "X-Team: KEY"),
    _run("a header in one word", *PLAIN, "--header=api-key: KEY"),
    _run("a cookie", *PLAIN, "--header", "Cookie: session=KEY; path=/"),
    _run("the headers' variable", *PLAIN, TOOLMARK_HEADER="X-Team: KEY\nAccept: */*"),
    _run("a body's name", *PLAIN, "--extra-body", '{"api_key": "KEY"}', code=2),
    _run("a body's depth", *PLAIN, "--extra-body", '{"a": [{"Authorization": "KEY"}]}', code=2),
    _run("a body's value", *PLAIN, "--extra-body", '{"metadata": {"team": "KEY"}}', code=2),
    _run("a body's field", *PLAIN, "--extra-body", '{"KEY": 1}', code=2),
    _run("the body's variable", *PLAIN, TOOLMARK_EXTRA_BODY='{"x": "KEY"}', code=2),
    _run("a password", "-m", "http://user:KEY@HOST/v1#planner", code=2),
    _run("a user", "-m", "http://KEY@HOST/v1#planner", code=2),
    _run("a path", *IN_PATH),
    _run("a path of a provider", "-m", "openai/planner", "--base-url", "http://HOST/KEY/v1",
         OPENAI_API_KEY="KEY"),
    _run("a path in a variable", "-m", "openai/planner", OPENAI_BASE_URL="http://HOST/KEY/v1",
         OPENAI_API_KEY="other-key-of-this-one"),
    _run("the base's variable", "-m", "openai/planner", TOOLMARK_BASE_URL="http://HOST/KEY/v1",
         OPENAI_API_KEY="other-key-of-this-one"),
    _run("a query's value", "-m", "http://HOST/v1?x=KEY#planner", code=2),
    _run("a query's name", "-m", "http://HOST/v1?KEY=1#planner", code=2),
    _run("a bare query", "-m", "http://HOST/v1?KEY#planner", code=2),
    _run("a query of the base", "-m", "openai/planner", "--base-url", "http://HOST/v1?key=KEY",
         code=2),
    _run("a fragment of the base", "-m", "openai/planner", "--base-url", "URL#KEY",
         OPENAI_API_KEY="other-key-of-this-one"),
    _run("a parameter", *PLAIN, "-T", "core=KEY", code=2),
    _run("no model at all", "-m", "KEY", code=2),
    _run("a cache", *PLAIN, "--cache", "kept", TOOLMARK_API_KEY="KEY"),
    _run("a cache of a path", *IN_PATH, "--cache", "kept"),
    _run("text that echoes it", *PLAIN, code=3, answer="text", TOOLMARK_API_KEY="KEY"),
    _run("arguments that echo it", *PLAIN, code=3, answer="arguments", TOOLMARK_API_KEY="KEY"),
    _run("a tool's name that echoes it", *PLAIN, code=3, answer="name", TOOLMARK_API_KEY="KEY"),
    _run("a model's name that echoes it", *PLAIN, code=3, answer="model", TOOLMARK_API_KEY="KEY"),
    _run("text that echoes a path", *IN_PATH, code=3, answer="text"),
    _run("text that echoes a header", *PLAIN, "--header", "X-Team-Key: KEY", code=3,
         answer="text"),
    _run("a refusal that echoes it", *PLAIN, code=3, answer="error", status=401,
         TOOLMARK_API_KEY="KEY"),
    _run("a fault that echoes it", *PLAIN, *ONCE, code=3, answer="error", status=500,
         TOOLMARK_API_KEY="KEY"),
    _run("a fault that echoes it encoded", *PLAIN, *ONCE, code=3, answer="encoded", status=500,
         TOOLMARK_API_KEY="KEY"),
    _run("an error under 200", *PLAIN, *ONCE, code=3, answer="error", TOOLMARK_API_KEY="KEY"),
    _run("a torn answer", *PLAIN, *ONCE, code=3, answer="torn", TOOLMARK_API_KEY="KEY"),
    _run("a redirect", *PLAIN, code=3, answer="away", status=307, TOOLMARK_API_KEY="KEY"),
    Case("doctor", ("doctor", *PLAIN), {"TOOLMARK_API_KEY": "KEY"}, 1),
    Case("doctor, a path", ("doctor", *IN_PATH, "--json"), {}, 1),
    Case("doctor, an echo", ("doctor", *PLAIN), {"TOOLMARK_API_KEY": "KEY"}, 1, "error", 401),
    Case("make", ("make", "funcbench", *SMALL, "-o", "set"), {"OPENAI_API_KEY": "KEY"}, 0),
    Case("list", ("list", "funcbench"), {"OPENAI_API_KEY": "KEY"}, 0),
    Case("tune, a path", ("tune", "mfcl-vision", *IN_PATH, "-o", "tuned", "-T", "items=2"), {}, 2),
    Case("author, a path", ("author", "m3", *IN_PATH, "--judge-model", "http://HOST/KEY/v1#j",
         "-T", "truths=truths.json", "-T", "servers=mcp.json", "-T", "agent=loop", "-o", "made"),
         {}, 3),
)  # fmt: skip
AFTER = (("report",), ("show",), ("score",))


def forms(key: str) -> set[bytes]:
    """Return what a key may look like in a file."""
    plain = key.encode()
    coded = {base64.b64encode(b"x" * n + plain)[4 : -4 or None] for n in range(3)}
    texts = {key, quote(key, safe=""), quote(key), quote_plus(key), json.dumps(key)[1:-1],
             json.dumps(key)[1:-1].replace("/", "\\/"), key.replace("/", "\\/")}  # fmt: skip
    return (
        {text.encode() for text in texts}
        | coded
        | {plain.hex().encode(), plain.hex().upper().encode()}
    )


def said(answer: str, key: str) -> object:
    """Return what an endpoint of this kind answers."""
    coded = base64.b64encode(f"user:{key}".encode()).decode()
    call = fake.calls(("f", json.dumps({"a": key})))
    answers: dict[str, object] = {
        "text": fake.says(f"you sent {key}"),
        "arguments": call,
        "name": fake.calls((f"call_{key}", "{}")),
        "model": fake.says("hm") | {"model": key},
        "error": {"error": {"message": f"bad {key} and {quote(key, safe='')}", "code": key}},
        "encoded": {
            "error": {
                "message": f"you sent Basic {coded} and {key.encode().hex()}, "
                f"{key.encode().hex().upper()}"
            }
        },
        "torn": f'{{"choices": [{{"message": "{key}"'.encode(),
        "away": b"",
    }
    return answers[answer]


def leaks(folder: Path, key: str) -> list[str]:
    """Return the files below a folder that hold the key, or are named by it."""
    wanted = forms(key)
    found = []
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        name = str(path.relative_to(folder)).encode()
        if any(form in data or form in name for form in wanted):
            found.append(name.decode())
    return found


def _filled(text: str, key: str, mind: Mind) -> str:
    host = mind.url.removeprefix("http://").removesuffix("/v1")
    address = quote(key, safe="") if "HOST" in text else key
    return text.replace("KEY", address).replace("URL", mind.url).replace("HOST", host)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let everything that is written by default lie in the test's folder."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "TOOLMARK_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    call = {"name": "slow/echo", "arguments": {}}
    task = {"id": "00010000", "question": "Where?", "steps": [{"step": 1, "calls": [call]}]}
    (tmp_path / "truths.json").write_text(json.dumps([task]))
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"slow": fault()}}))
    return tmp_path


def _cases() -> Iterator[Any]:
    for n, case in enumerate(CASES):
        for i, key in enumerate(KEYS):
            marks = () if i == n % len(KEYS) else (pytest.mark.long,)
            yield pytest.param(case, key, id=f"{case.name}-{i}", marks=marks)


@pytest.mark.parametrize(("case", "key"), list(_cases()))
def test_no_key_reaches_a_file(
    case: Case, key: str, home: Path, mind: Mind, toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.answer:
        mind.status, mind.body = case.status, said(case.answer, key)
    for name, value in case.environ.items():
        monkeypatch.setenv(name, _filled(value, key, mind))
    words = [_filled(word, key, mind) for word in case.words]
    reported = toolmark(*words)
    assert reported.code == case.code, reported
    assert leaks(home, key) == []
    given = " ".join(words) + " ".join(os.environ[name] for name in case.environ)
    shown = {form for form in forms(key) if form in (reported.out + reported.err).encode()}
    assert not shown or case.code == 2, (reported, given)
    for run in (home / "runs").glob("*/"):
        for after in AFTER:
            reported = toolmark(*after, str(run))
            assert not any(form in (reported.out + reported.err).encode() for form in forms(key))
    assert leaks(home, key) == []
    assert case.code == 2 or not any(key in name for name in os.listdir(home))


@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_a_judge_reaches_a_file(
    key: str, home: Path, mind: Mind, toolmark: Command
) -> None:
    parameters = ("truths=truths.json", "servers=mcp.json", "agent=loop", "similarity=exact")
    words = [word for parameter in parameters for word in ("-T", parameter)]
    reported = toolmark("run", "m3", "-m", "control/oracle", *words, "--sandbox", "off")
    assert reported.code == 0, reported
    (run,) = (home / "runs").glob("*/")
    places = [_filled(f"http://HOST/KEY/v1#{name}", key, mind) for name in "abc"]
    for words in (places, places[:1] * 3, [key, *places]):
        judges = [word for place in words for word in ("--judge-model", place)]
        reported = toolmark("judge", str(run), *judges, "--max-retries", "0", "--cache", "kept")
        shown = any(form in (reported.out + reported.err).encode() for form in forms(key))
        assert not shown or reported.code == 2, reported
    assert mind.asked and leaks(home, key) == []


def test_the_key_was_sent_where_it_belongs(
    home: Path, mind: Mind, toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is masked in files goes out as it was given."""
    key = KEYS[1]
    toolmark("run", "funcbench", *SMALL, "-m", _filled(IN_PATH[1], key, mind))
    assert {each.target for each in mind.asked} == {f"/{key}/v1/chat/completions"}
    (run,) = (home / "runs").glob("*/")
    info = json.loads((run / "run.json").read_bytes())
    assert key not in json.dumps(info)
    assert "[key-" in info["plan"]["model"] and "[key-" in info["plan"]["base_url"]
    toolmark("run", "funcbench", *SMALL, "-m", _filled(IN_PATH[1], key, mind))
    toolmark("run", "funcbench", *SMALL, "-m", _filled(IN_PATH[1], KEYS[0], mind))
    hashes = [run.name.rpartition("-")[0][-8:] for run in sorted((home / "runs").glob("*/"))]
    assert len(hashes) == 3
    assert len(set(hashes)) == 2  # the same key is the same request, another one another
    said = toolmark("doctor", "-m", info["plan"]["model"])
    assert said.code == 2
    assert "write the whole address" in said.err
