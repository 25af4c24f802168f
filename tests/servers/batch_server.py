"""An endpoint with the batches of OpenAI and of Anthropic, and the single requests of both.

It validates what is sent by the types of the vendors' packages, and refuses everything else. The
model behind it is a function of a request's body, so singly and in a batch it says the same. A
batch is over after it was looked at `n_looks` times. Results come in another order.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers import fake

Json = dict[str, Any]
Answer = tuple[int, Json] | str
"""A status with a body, or `expired` or `canceled`."""
Script = Callable[[Json], Answer]
KEY = "sk-test-1234567890abcdef"
_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions")
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OPENAI_LIMITS = 50_000, 200_000_000
_ANTHROPIC_LIMITS = 100_000, 256_000_000


class Refusal(Exception):
    """A request that the endpoint refuses."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class ScriptedError(Exception):
    """An error of the model behind a single request."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(str(status))
        self.status, self.body = status, body


@dataclass
class Batch:
    """One batch: its requests by custom id, and how often it was looked at."""

    id: str
    items: list[tuple[str, Json]]
    endpoint: str
    created_s: float
    metadata: dict[str, str] = field(default_factory=dict)
    input_file: str = ""
    n_looks: int = 0
    is_cancelled: bool = False
    faults: list[Json] = field(default_factory=list)
    answers: dict[str, Answer] | None = None


def user_text(body: Json) -> str:
    """Return the last text of a user in a body of any of the three wires."""
    messages = body["messages"] if "messages" in body else body["input"]
    said = [message for message in messages if message.get("role") == "user"][-1]
    content = said["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


@dataclass
class BatchServer:
    """The endpoint; `script` answers each request.

    - `refusals`: (method and path, status, body, headers), each for the next such request.
    - `lost_answers`: paths whose next request is carried out, and its connection closed.
    - `max_waiting`: more requests in one batch are refused as too many tokens that wait.
    - `bad_words`: requests that contain one make the validation of the batch fail.
    """

    script: Script
    n_looks: int = 1
    lifetime_s: float = 86_400.0
    refusals: list[tuple[str, int, Json, dict[str, str]]] = field(default_factory=list)
    lost_answers: list[str] = field(default_factory=list)
    max_waiting: int | None = None
    bad_words: tuple[str, ...] = ()
    on_request: Callable[[str], None] = lambda request: None
    batches: dict[str, Batch] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    single: list[Json] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    n_made: int = 0

    def paid(self) -> Counter[str]:
        """Return how often each request was answered by a batch, by its custom id."""
        return Counter(
            id
            for batch in self.batches.values()
            for id, answer in (batch.answers or {}).items()
            if not isinstance(answer, str) and answer[0] == 200
        )

    def submitted(self) -> Counter[str]:
        """Return how often each request was accepted in a batch, by its custom id."""
        return Counter(id for b in self.batches.values() if not b.faults for id, _ in b.items)

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> bool:
        """Answer one request."""
        path = asked.target.partition("?")[0]
        request = f"{'POST' if asked.body or path.endswith('/cancel') else 'GET'} {path}"
        self.asked.append(request)
        self.on_request(request)
        for at, (prefix, status, body, headers) in enumerate(self.refusals):
            if request.startswith(prefix):
                del self.refusals[at]
                writer.write(fake.raw(status, json.dumps(body).encode(), headers))
                return False
        try:
            found = self._route(request, asked)
        except ScriptedError as scripted:
            writer.write(fake.raw(scripted.status, json.dumps(scripted.body).encode()))
            return False
        except Refusal as refusal:
            self.faults.append(f"{request}: {refusal}")
            error = {"message": str(refusal), "type": "invalid_request_error", "code": refusal.code}
            writer.write(fake.raw(refusal.status, json.dumps({"error": error}).encode()))
            return False
        if path in self.lost_answers:
            self.lost_answers.remove(path)
            return True
        data = found if isinstance(found, bytes) else json.dumps(found).encode()
        writer.write(fake.raw(200, data))
        await writer.drain()
        return False

    def _route(self, request: str, asked: fake.Asked) -> Json | bytes:
        path = request.partition(" ")[2]
        is_anthropic = "/messages" in path
        self._check_headers(asked.headers, is_anthropic)
        match request.split("/"):
            case ["POST ", "v1", "files"]:
                return self._take_file(asked)
            case ["GET ", "v1", "files", id, "content"] if id in self.files:
                return self.files[id][1]
            case ["POST ", "v1", "batches"]:
                return self._create_openai(asked)
            case ["GET ", "v1", "batches"]:
                return self._list(asked, "after", self._write_openai)
            case ["GET ", "v1", "batches", id] if id in self.batches:
                return self._write_openai(self._look(id))
            case ["POST ", "v1", "batches", id, "cancel"] if id in self.batches:
                return self._write_openai(self._cancel(id))
            case ["POST ", "v1", "messages", "batches"]:
                return self._create_anthropic(asked)
            case ["GET ", "v1", "messages", "batches"]:
                return self._list(asked, "after_id", self._write_anthropic)
            case ["GET ", "v1", "messages", "batches", id] if id in self.batches:
                return self._write_anthropic(self._look(id))
            case ["GET ", "v1", "messages", "batches", id, "results"] if id in self.batches:
                return self._results(self.batches[id])
            case ["POST ", "v1", "messages", "batches", id, "cancel"] if id in self.batches:
                return self._write_anthropic(self._cancel(id))
            case ["POST ", "v1", "messages" | "responses"] | ["POST ", "v1", "chat", "completions"]:
                return self._answer_single(asked.json)
        raise Refusal(f"no such thing: {request}", 404)

    def _check_headers(self, headers: dict[str, str], is_anthropic: bool) -> None:
        if is_anthropic and headers.get("x-api-key") != KEY:
            raise Refusal("invalid x-api-key", 401)
        if is_anthropic and headers.get("anthropic-version") != "2023-06-01":
            raise Refusal("anthropic-version: required")
        if not is_anthropic and headers.get("authorization") != f"Bearer {KEY}":
            raise Refusal("Incorrect API key provided", 401, "invalid_api_key")

    def _answer_single(self, body: Json) -> Json:
        self.single.append(body)
        answer = self.script(body)
        assert not isinstance(answer, str)
        status, said = answer
        if status != 200:
            raise ScriptedError(status, said)
        return said

    # --- the way of a batch ---

    def _name(self, kind: str) -> str:
        self.n_made += 1
        return f"{kind}_{self.n_made:04}"

    def _look(self, id: str) -> Batch:
        batch = self.batches[id]
        batch.n_looks += 1
        if self._is_over(batch) and batch.answers is None:
            batch.answers = {
                item: "canceled" if batch.is_cancelled else self.script(body)
                for item, body in batch.items
            }
        return batch

    def _is_over(self, batch: Batch) -> bool:
        return batch.n_looks > self.n_looks or batch.is_cancelled

    def _cancel(self, id: str) -> Batch:
        if self._is_over(self.batches[id]):
            raise Refusal("the batch is over", 409)
        self.batches[id].is_cancelled = True
        return self.batches[id]

    def _list(self, asked: fake.Asked, cursor: str, write: Callable[[Batch], Json]) -> Json:
        query = dict(p.split("=") for p in asked.target.partition("?")[2].split("&") if p)
        if query.keys() - {"limit", cursor} or not 1 <= int(query["limit"]) <= 1000:
            raise Refusal(f"unknown query: {query}")
        listed = sorted(self.batches.values(), key=lambda b: b.id, reverse=True)
        ids = [batch.id for batch in listed]
        start = ids.index(query[cursor]) + 1 if cursor in query else 0
        page = listed[start : start + 2]  # small pages: the client has to turn them
        return {"data": [write(each) for each in page], "has_more": start + 2 < len(listed)}

    # --- OpenAI ---

    def _take_file(self, asked: fake.Asked) -> Json:
        fields = read_form(asked)
        if fields.keys() != {"purpose", "file"} or fields["purpose"] != (None, b"batch"):
            raise Refusal(f"a form with purpose and file is expected: {sorted(fields)}")
        name, data = fields["file"]
        if not name or not name.endswith(".jsonl"):
            raise Refusal("the file must be .jsonl")
        if len(data) > _OPENAI_LIMITS[1]:
            raise Refusal("the file is too large", 413)
        id = self._name("file")
        self.files[id] = name, data
        return {
            "id": id, "object": "file", "bytes": len(data), "created_at": int(time.time()),
            "filename": name, "purpose": "batch", "status": "processed",
        }  # fmt: skip

    def _create_openai(self, asked: fake.Asked) -> Json:
        body = asked.json
        wanted = {"input_file_id", "endpoint", "completion_window", "metadata"}
        if body.keys() != wanted or body["completion_window"] != "24h":
            raise Refusal(f"unexpected members: {sorted(body)}")
        if body["endpoint"] not in _PATHS or body["input_file_id"] not in self.files:
            raise Refusal("no such endpoint or file")
        for name, value in body["metadata"].items():
            if not isinstance(value, str) or len(name) > 64 or len(value) > 512:
                raise Refusal("metadata: too long")
        batch = Batch(
            self._name("batch"), [], body["endpoint"], time.time(), body["metadata"],
            body["input_file_id"],
        )  # fmt: skip
        self._validate(batch, self.files[batch.input_file][1])
        self.batches[batch.id] = batch
        return self._write_openai(batch)

    def _validate(self, batch: Batch, data: bytes) -> None:
        if not data.endswith(b"\n"):
            batch.faults.append(_fault("invalid_json_line", "no end of line", None))
        for number, line in enumerate(data.decode().splitlines(), 1):
            try:
                item = json.loads(line)
            except ValueError:
                batch.faults.append(_fault("invalid_json_line", "not JSON", number))
                continue
            body = item.get("body", {})
            is_right = (
                item.keys() == {"custom_id", "method", "url", "body"}
                and item["method"] == "POST" and item["url"] == batch.endpoint
                and isinstance(item["custom_id"], str) and isinstance(body, dict)
                and not body.get("stream") and body.get("model")
            )  # fmt: skip
            if not is_right:
                batch.faults.append(_fault("invalid_request", "wrong members", number))
            elif any(word in line for word in self.bad_words):
                batch.faults.append(_fault("invalid_request", "a bad word", number))
            batch.items.append((item["custom_id"], body))
        ids = [id for id, _ in batch.items]
        if len(set(ids)) != len(ids) or not ids or len(ids) > _OPENAI_LIMITS[0]:
            batch.faults.append(_fault("duplicate_custom_id", "ids must be unique", None))
        if self.max_waiting is not None and len(ids) > self.max_waiting:
            batch.faults.append(_fault("token_limit_exceeded", "Enqueued token limit", None))

    def _write_openai(self, batch: Batch) -> Json:
        answers = batch.answers or {}
        status = "in_progress" if batch.n_looks else "validating"
        if batch.faults and batch.n_looks:
            status = "failed"
        elif batch.answers is not None:
            is_expired = "expired" in answers.values()
            status = "cancelled" if batch.is_cancelled else "expired" if is_expired else "completed"
        files: dict[str, str | None] = {"output_file_id": None, "error_file_id": None}
        n_good = n_bad = 0
        if status not in ("validating", "in_progress", "failed"):
            good, bad = self._openai_lines(batch)
            n_good, n_bad = len(good), len(bad)
            for name, lines in (("output_file_id", good), ("error_file_id", bad)):
                if lines:
                    id = f"file-{batch.id}-{name[:6].replace('_', '-')}"
                    files[name] = id
                    self.files[id] = "results.jsonl", b"".join(reversed(lines))
        return {
            "id": batch.id, "object": "batch", "endpoint": batch.endpoint, "status": status,
            "errors": {"object": "list", "data": batch.faults} if status == "failed" else None,
            "input_file_id": batch.input_file, "completion_window": "24h", **files,
            "created_at": int(batch.created_s),
            "expires_at": int(batch.created_s + self.lifetime_s),
            "metadata": batch.metadata,
            "request_counts": {"total": len(batch.items), "completed": n_good, "failed": n_bad},
        }  # fmt: skip

    def _openai_lines(self, batch: Batch) -> tuple[list[bytes], list[bytes]]:
        good: list[bytes] = []
        bad: list[bytes] = []
        for number, (id, answer) in enumerate((batch.answers or {}).items()):
            line: Json = {"id": f"batch_req_{number}", "custom_id": id, "error": None}
            if isinstance(answer, str):
                code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[answer]
                line |= {"response": None, "error": {"code": code, "message": "not executed"}}
            else:
                status, body = answer
                response = {"status_code": status, "request_id": f"req_{number}", "body": body}
                line["response"] = response
            is_good = not isinstance(answer, str) and answer[0] == 200
            (good if is_good else bad).append(json.dumps(line).encode() + b"\n")
        return good, bad

    # --- Anthropic ---

    def _create_anthropic(self, asked: fake.Asked) -> Json:
        body = asked.json
        if body.keys() != {"requests"} or len(asked.body) > _ANTHROPIC_LIMITS[1]:
            raise Refusal(f"unexpected members: {sorted(body)}")
        items = []
        for item in body["requests"]:
            if item.keys() != {"custom_id", "params"}:
                raise Refusal("requests: Extra inputs are not permitted")
            if not _ANTHROPIC_ID.fullmatch(item["custom_id"]):
                raise Refusal("custom_id: String should match pattern")
            if not item["params"].keys() >= {"model", "max_tokens", "messages"}:
                raise Refusal("params: Field required")
            if item["params"].get("stream"):
                raise Refusal("params: stream")
            items.append((item["custom_id"], item["params"]))
        if len({id for id, _ in items}) != len(items) or not items:
            raise Refusal("custom_id must be unique")
        batch = Batch(self._name("msgbatch"), items, "/v1/messages", time.time())
        self.batches[batch.id] = batch
        return self._write_anthropic(batch)

    def _write_anthropic(self, batch: Batch) -> Json:
        n = len(batch.items)
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        if batch.answers is None:
            counts["processing"] = n
        else:
            counts |= Counter(_anthropic_type(each) for each in batch.answers.values())
        is_over = batch.answers is not None
        created = datetime.fromtimestamp(batch.created_s, UTC)
        return {
            "id": batch.id, "type": "message_batch", "request_counts": counts,
            "processing_status": "ended" if is_over else "in_progress",
            "created_at": created.isoformat().replace("+00:00", "Z"),
            "expires_at": (created + timedelta(seconds=self.lifetime_s)).isoformat(),
            "ended_at": None, "cancel_initiated_at": None, "archived_at": None,
            "results_url": "https://elsewhere.example/results" if is_over else None,
        }  # fmt: skip

    def _results(self, batch: Batch) -> bytes:
        if batch.answers is None:
            raise Refusal("the batch has no results yet", 404)
        lines = []
        for id, answer in reversed(batch.answers.items()):
            result: Json = {"type": _anthropic_type(answer)}
            if not isinstance(answer, str):
                result |= {"message" if answer[0] == 200 else "error": answer[1]}
            lines.append(json.dumps({"custom_id": id, "result": result}))
        return "\n".join(lines).encode()  # the last line has no end


def _anthropic_type(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer
    return "succeeded" if answer[0] == 200 else "errored"


def _fault(code: str, message: str, line: int | None) -> Json:
    return {"code": code, "message": message, "line": line, "param": None}


def read_form(asked: fake.Asked) -> dict[str, tuple[str | None, bytes]]:
    """Return the fields of a form: file name and content, by name. Raises Refusal."""
    kind = asked.headers.get("content-type", "")
    found = re.fullmatch(r"multipart/form-data; boundary=(\S+)", kind)
    if not found:
        raise Refusal(f"content-type: {kind}", 415)
    mark = b"--" + found[1].encode()
    head, *parts, tail = asked.body.split(mark)
    if head or tail.strip() != b"--":
        raise Refusal("the form is torn")
    fields: dict[str, tuple[str | None, bytes]] = {}
    for part in parts:
        lines, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', lines)
        file_name = re.search(rb'filename="([^"]*)"', lines)
        if not name or not content.endswith(b"\r\n"):
            raise Refusal("a part of the form is torn")
        shown = file_name[1].decode() if file_name else None
        fields[name[1].decode()] = shown, content[:-2]
    return fields
