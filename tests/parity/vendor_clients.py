"""Stand-ins for the vendors' packages: they send what the packages send, to a local server.

A client has the methods that the official handlers call. What it answers has the attributes that
they read, and is sent back as it came.
"""

import http.client
import json
import types
from typing import Any
from urllib.parse import urlsplit


class Given:
    """A JSON object whose members are attributes; it is sent back as it came."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.raw:
            raise AttributeError(name)
        return given(self.raw[name])

    def model_dump(self) -> dict[str, Any]:
        """Return the object, as models of pydantic do."""
        return self.raw


def given(value: Any) -> Any:
    if isinstance(value, dict):
        return Given(value)
    return [given(each) for each in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Return what a package sends for a value: an answer goes back as it came."""
    if isinstance(value, Given | GoogleGiven):
        return plain(value.raw)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


class Client:
    """Asks one server by one connection."""

    def __init__(self, url: str) -> None:
        self.parts = urlsplit(url)
        self.line = http.client.HTTPConnection(self.parts.netloc)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a body and return the JSON of the answer."""
        self.line.request("POST", f"{self.parts.path}/{path}", json.dumps(plain(body)))
        return json.loads(self.line.getresponse().read())


# --- OpenAI -----------------------------------------------------------------------------


class Chat(Client):
    """Stands for a client of chat completions, also for Writer's, whose method is `chat.chat`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.chat = self.completions = self

    def create(self, **body: Any) -> Any:
        body |= body.pop("extra_body", {})
        return given(self.post("chat/completions", body))

    def __call__(self, **body: Any) -> Any:
        return self.create(**body)


class Response(Given):
    """A response, with the text that the package collects from its messages."""

    @property
    def output_text(self) -> str:
        return "".join(
            part["text"]
            for item in self.raw["output"]
            if item["type"] == "message"
            for part in item["content"]
            if part["type"] == "output_text"
        )


class Responses(Client):
    """Stands for a client of the Responses API."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.responses = self

    def create(self, **body: Any) -> Any:
        return Response(self.post("responses", body))


# --- Anthropic --------------------------------------------------------------------------


class TextBlock(Given):
    """A text in the content of a message."""


class ToolUseBlock(Given):
    """A call in the content of a message; its input is plain JSON."""

    @property
    def input(self) -> Any:
        return self.raw["input"]


BLOCKS: dict[str, type[Given]] = {"text": TextBlock, "tool_use": ToolUseBlock}


class AnthropicMessage(Given):
    """A message, whose blocks have a class for each type."""

    @property
    def content(self) -> list[Given]:
        return [BLOCKS.get(each["type"], Given)(each) for each in self.raw["content"]]


class Messages(Client):
    """Stands for a client of the Messages API."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.messages = self

    def create(self, **body: Any) -> Any:
        del body["timeout"]
        return AnthropicMessage(self.post("messages", body))


# --- Google -----------------------------------------------------------------------------


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class GoogleGiven:
    """A JSON object whose members are attributes in snake case; None is what it lacks."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.raw.get(camel_case(name))
        if isinstance(value, dict) and name != "args":
            return GoogleGiven(value)
        return [GoogleGiven(each) for each in value] if isinstance(value, list) else value


class Part(GoogleGiven):
    """A part of a content."""

    def __init__(self, **members: Any) -> None:
        super().__init__(members)

    @classmethod
    def from_function_response(cls, name: str, response: dict[str, Any]) -> "Part":
        return cls(functionResponse={"name": name, "response": response})


class Content(GoogleGiven):
    """A message."""

    def __init__(self, role: str, parts: list[Part]) -> None:
        super().__init__({"role": role, "parts": parts})


GOOGLE_TYPES: dict[str, Any] = {
    "Part": Part,
    "Content": Content,
    **dict.fromkeys(
        ("AutomaticFunctionCallingConfig", "GenerateContentConfig", "ThinkingConfig", "Tool"),
        types.SimpleNamespace,
    ),
}


class GenerateContent(Client):
    """Stands for a client of generateContent."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.models = self

    def generate_content(self, model: str, contents: list[Any], config: Any) -> Any:
        body = {
            "contents": contents,
            "generationConfig": {
                "temperature": config.temperature,
                "thinkingConfig": vars(config.thinking_config),
            },
        }
        if instruction := getattr(config, "system_instruction", None):
            body["systemInstruction"] = {"parts": [{"text": instruction}], "role": "user"}
        if tools := getattr(config, "tools", None):
            body["tools"] = [
                {"functionDeclarations": [dict(each) for each in tool.function_declarations]}
                for tool in tools
            ]
        return GoogleGiven(self.post(f"models/{model}:generateContent", body))
