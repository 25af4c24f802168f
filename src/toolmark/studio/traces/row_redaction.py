"""Secrets, e-mail addresses and the user's own patterns are replaced in proposed rows.

Equal texts have equal placeholders, so a call still agrees with the message that it follows from.
Secrets are found as in `core.secrets`: by the name of a field, as `name=value`, inside an address,
and by their form. What one place shows to be a secret is replaced everywhere in the row.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import re2

from toolmark.core import json_codec, redaction, secrets
from toolmark.core.errors import UsageError
from toolmark.studio.traces import chat_messages
from toolmark.studio.traces.foreign_json import parse_foreign_json
from toolmark.studio.traces.observed_replies import is_digest
from toolmark.studio.traces.trace_faults import Unusable

TextRule: TypeAlias = Callable[[str], str]

MAX_SECRETS = 200  # of one row: each is searched for in all of it
_MIN_SECRET_CHARS = 4
_FLAG = re.compile("true|false|yes|no|on|off|none|null|bearer|basic|string", re.IGNORECASE)
# in names of ordinary fields, which would be taken for those of secrets
_ORDINARY_WORD = re.compile(
    "key(?:words?|boards?|notes?|frames?)|monkey|turkey|hockey|passenger|compass|bypass|secretar"
    "|authorit|authenti",
    re.IGNORECASE,
)
_KEY_PURPOSE = re.compile(
    "api|access|secret|private|sign|encrypt|auth|licen|subscription|client|master|service|account"
    "|ssh|pgp|gpg|hmac|session",
    re.IGNORECASE,
)
_ADDRESS = re.compile("""(?<![A-Za-z])[A-Za-z]{2,12}://[^\\s"'<>\\\\]{1,4000}""")
_EMAIL_SIGN = re.compile("[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}[.][A-Za-z0-9.-]{1,190}")
_NAMED_TEXT = re.compile(
    r"""(?<![\w.-])([\w.-]{2,60})["']?\s{0,4}[=:]\s{0,4}["']?"""
    r"""(?:(?:bearer|basic|digest|token)\s{1,4})?([^\s"'&;,<>\\]{4,500})""",
    re.IGNORECASE,
)
_SCHEMA_FIELDS = ("type", "required", "format", "$ref", "$schema")


class RowRedaction:
    """What is replaced in rows. Raises UsageError for a pattern that is not RE2's."""

    def __init__(self, patterns: Sequence[str] = (), *, emails: bool = False) -> None:
        self._rules: list[TextRule] = [secrets.mask_random_text]
        if emails:
            self._rules.append(mask_emails)
        self._rules += [_pattern_rule(pattern) for pattern in patterns]

    def redact_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row without secrets; names of tools and `source` stay.

        Raises Unusable for a row of too many secrets.
        """
        found = {secret for secret in _named_secrets(row) if _is_secret_value(secret)}
        if len(found) > MAX_SECRETS:
            raise Unusable(f"more than {MAX_SECRETS} secrets in one reply")
        replacements = {
            spelling: secrets.placeholder_for(secret)
            for secret in sorted(found, key=lambda each: (-len(each), each))
            for spelling in redaction.secret_spellings((secret,))
        }
        cleaner = _RowCleaner(replacements, self._rules)
        return {
            **row,
            "messages": [cleaner.clean_message(message) for message in row["messages"]],
            "tools": [cleaner.clean_tool(tool) for tool in row["tools"]],
            "expected": [
                {"name": call["name"], "arguments": cleaner.clean_value(call["arguments"])}
                for call in row["expected"]
            ],
            "group": row["group"] if is_digest(row["group"]) else cleaner.clean_text(row["group"]),
        }


class _RowCleaner:
    """Replaces texts in the parts of one row."""

    def __init__(self, replacements: Mapping[str, str], rules: Sequence[TextRule]) -> None:
        self._replacements = replacements
        self._rules = rules

    def clean_text(self, text: str) -> str:
        for old, new in self._replacements.items():
            text = text.replace(old, new)
        for rule in self._rules:
            text = rule(text)
        return text

    def clean_value(self, value: Any) -> Any:
        """Clean values and names of a call's arguments."""
        match value:
            case str():
                return self.clean_text(value)
            case dict():
                return {self.clean_text(n): self.clean_value(each) for n, each in value.items()}
            case list():
                return [self.clean_value(each) for each in value]
            case int() | float() if not isinstance(value, bool):
                return self._replacements.get(str(value), value)
            case _:
                return value

    def clean_message(self, message: dict[str, Any]) -> dict[str, Any]:
        cleaned = {**message, "content": self.clean_text(message["content"])}
        if "tool_calls" in message:
            cleaned["tool_calls"] = [self._clean_call(call) for call in message["tool_calls"]]
        return cleaned

    def _clean_call(self, call: dict[str, Any]) -> dict[str, Any]:
        text = call["function"]["arguments"]
        parsed = _parsed_json(text)
        if parsed is None:
            cleaned = self.clean_text(text)
        elif (value := self.clean_value(parsed)) != parsed:
            cleaned = chat_messages.json_text(value)
        else:  # as it was written
            cleaned = text
        return {**call, "function": {**call["function"], "arguments": cleaned}}

    def clean_tool(self, tool: dict[str, Any]) -> dict[str, Any]:
        return {"type": "function", "function": self._clean_schema(tool["function"], ("name",))}

    def _clean_schema(self, value: Any, left_fields: Sequence[str] = _SCHEMA_FIELDS) -> Any:
        """Clean texts of a schema; names of properties, types and references stay."""
        match value:
            case str():
                return self.clean_text(value)
            case dict():
                return {
                    name: each
                    if name in left_fields and not isinstance(each, dict)
                    else self._clean_schema(each)
                    for name, each in value.items()
                }
            case list():
                return [self._clean_schema(each) for each in value]
            case _:
                return value


def mask_emails(text: str) -> str:
    """Return a text whose e-mail addresses are placeholders."""
    return _EMAIL_SIGN.sub(lambda found: _placeholder("email", found[0]), text)


def _pattern_rule(pattern: str) -> TextRule:
    try:
        compiled = re2.compile(pattern)
    except re2.error as error:
        raise UsageError(f"--redact-pattern {pattern!r}: not a pattern of RE2: {error}") from None
    if compiled.search("") is not None:
        raise UsageError(f"--redact-pattern {pattern!r}: it matches the empty text")

    def replace_matches(text: str) -> str:
        return str(compiled.sub(lambda found: _placeholder("redacted", found.group(0)), text))

    return replace_matches


def _placeholder(kind: str, text: str) -> str:
    return f"[{kind}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}]"


def _named_secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts below fields whose names say that they are secret; JSON texts are read."""
    match value:
        case dict():
            for inner_name, each in value.items():
                yield from _named_secrets(each, str(inner_name))
        case list():
            for each in value:
                yield from _named_secrets(each, name)
        case str():
            if _is_secret_name(name):
                yield value
            parsed = _parsed_json(value)
            if parsed is None:
                yield from _secrets_in_text(value)
            else:
                yield from _named_secrets(parsed, name)
        case int() | float() if not isinstance(value, bool) and _is_secret_name(name):
            yield str(value)


def _parsed_json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_foreign_json(text)
    except json_codec.InvalidJson:
        return None


def _secrets_in_text(text: str) -> Iterator[str]:
    for address in _ADDRESS.findall(text):
        yield from secrets.keys_in_address(address)
    for name, value in _NAMED_TEXT.findall(text):
        if _is_secret_name(name):
            yield value


def _is_secret_name(name: str) -> bool:
    """Return whether a field of this name is a secret; a key must say what it opens.

    `key` alone, `sort_key` and the like are ordinary fields; a key in them is found by its form.
    """
    name = _ORDINARY_WORD.sub("", name)
    if not secrets.is_secret_name(name):
        return False
    is_secret_without_key = secrets.is_secret_name(name.lower().replace("key", ""))
    return is_secret_without_key or _KEY_PURPOSE.search(name) is not None


def _is_secret_value(text: str) -> bool:
    is_number = text.isdecimal() and len(text) < 6
    return len(text) >= _MIN_SECRET_CHARS and not is_number and not _FLAG.fullmatch(text)
