"""Spans and log events of OTLP JSON. Field names may be those of JSON or of the protocol buffers.

Source: the protocol of OpenTelemetry, `opentelemetry/proto/trace/v1/trace.proto` and
`logs/v1/logs.proto`. Ids are written as hexadecimal text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.core.records import Record
from toolmark.studio.traces import chat_messages
from toolmark.studio.traces.trace_faults import Malformed

_MAX_ID_CHARS = 64
_VALUE_TYPES: dict[str, tuple[type, ...]] = {
    "stringValue": (str,),
    "boolValue": (bool,),
    "doubleValue": (int, float, str),  # what is not finite is text
    "bytesValue": (str,),
}
_GROUP_FIELDS = {
    "resourceSpans": ("scopeSpans", "spans"),
    "resourceLogs": ("scopeLogs", "logRecords"),
}


class SpanEvent(Record, frozen=True, kw_only=True):
    """An event: its name and attributes, and its body in `body`."""

    name: str
    attributes: dict[str, Any] = {}
    body: Any = None


class SpanRecord(Record, frozen=True, kw_only=True):
    """A span with plain values; times in nanoseconds."""

    trace: str
    span: str
    parent: str = ""
    name: str = ""
    start_ns: int = 0
    attributes: dict[str, Any] = {}
    events: tuple[SpanEvent, ...] = ()


class LogEvent(Record, frozen=True, kw_only=True):
    """A log record that is an event of a span."""

    trace: str
    span: str
    time_ns: int
    event: SpanEvent


def is_otlp(value: Any) -> bool:
    """Return whether a value is an export of spans or logs, one span or one log record."""
    return isinstance(value, Mapping) and (
        any(_field(value, name) is not None for name in (*_GROUP_FIELDS, "spanId"))
        or ("attributes" in value and ("timeUnixNano" in value or "body" in value))
    )


def otlp_entries(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield spans and log records of a value, each with its path. Raises Malformed."""
    if not any(_field(value, name) is not None for name in _GROUP_FIELDS):
        yield "", value
    for outer, (middle, inner) in _GROUP_FIELDS.items():
        for path, resource in _entries(value, outer, ""):
            for scope_path, scope in _entries(resource, middle, f"{path}."):
                yield from _entries(scope, inner, f"{scope_path}.")


def _entries(value: Any, name: str, prefix: str) -> Iterator[tuple[str, Any]]:
    found = _field(value, name) if isinstance(value, Mapping) else value
    if found is None:
        return
    path = f"{prefix}{name}"
    if not isinstance(found, list):
        raise Malformed(f"{path} is {chat_messages.json_type(found)}; it must be a list")
    for n, each in enumerate(found):
        yield f"{path}[{n}]", each


def read_entry(entry: Any) -> SpanRecord | LogEvent | None:
    """Return a span or a log event; None for a log record of no span. Raises Malformed."""
    if not isinstance(entry, Mapping):
        raise Malformed(f"{chat_messages.json_type(entry)}; it must be a span, an object")
    is_span = any(_field(entry, name) is not None for name in ("startTimeUnixNano", "parentSpanId"))
    if is_span or not ({"body", "timeUnixNano", "eventName"} & entry.keys()):
        return SpanRecord(
            trace=_id(entry, "traceId"),
            span=_id(entry, "spanId"),
            parent=_id(entry, "parentSpanId", is_optional=True),
            name=str(entry.get("name") or ""),
            start_ns=_time_ns(_field(entry, "startTimeUnixNano")),
            attributes=_attributes(entry.get("attributes")),
            events=tuple(_span_event(each) for each in _objects(entry, "events")),
        )
    event = _span_event(entry)
    if not _field(entry, "spanId"):
        return None
    time_ns = _time_ns(_field(entry, "timeUnixNano") or _field(entry, "observedTimeUnixNano"))
    return LogEvent(
        trace=_id(entry, "traceId"), span=_id(entry, "spanId"), time_ns=time_ns, event=event
    )


def _span_event(entry: Mapping[str, Any]) -> SpanEvent:
    attributes = _attributes(entry.get("attributes"))
    name = entry.get("name") or _field(entry, "eventName") or attributes.get("event.name") or ""
    body = entry.get("body")
    return SpanEvent(
        name=str(name), attributes=attributes, body=None if body is None else _any_value(body)
    )


def _objects(entry: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = entry.get(name)
    return [] if found is None else chat_messages.list_of_objects(found, name)


def _attributes(pairs: Any) -> dict[str, Any]:
    """Return attributes by name; of two with one name the last counts."""
    if pairs is None:
        return {}
    found: dict[str, Any] = {}
    for pair in chat_messages.list_of_objects(pairs, "attributes"):
        found[str(pair.get("key"))] = _any_value(pair.get("value"))
    return found


def _any_value(value: Any) -> Any:
    """Return an AnyValue as a plain value."""
    if value is None or value == {}:
        return None
    if not isinstance(value, Mapping):
        kind = chat_messages.json_type(value)
        raise Malformed(f"an attribute's value is {kind}; it must be like {{'stringValue': ...}}")
    for name, types in _VALUE_TYPES.items():
        if (found := _field(value, name)) is not None:
            if not isinstance(found, types):
                raise Malformed(f"{name} is {chat_messages.json_type(found)}")
            return found
    if (number := _field(value, "intValue")) is not None:
        return _integer(number, "intValue")
    if (array := _field(value, "arrayValue")) is not None:
        return [_any_value(each) for each in _objects(_object(array, "arrayValue"), "values")]
    if (pairs := _field(value, "kvlistValue")) is not None:
        return _attributes(_object(pairs, "kvlistValue").get("values"))
    return None


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Malformed(f"{name} is {chat_messages.json_type(value)}; it must be an object")
    return value


def _field(value: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name in JSON, else by its name in the protocol buffers."""
    if name in value:
        return value[name]
    return value.get("".join(f"_{c.lower()}" if c.isupper() else c for c in name))


def _id(entry: Mapping[str, Any], name: str, *, is_optional: bool = False) -> str:
    value = _field(entry, name)
    if is_optional and value in (None, ""):
        return ""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_ID_CHARS:
        kind = "too long" if isinstance(value, str) and value else chat_messages.json_type(value)
        raise Malformed(f"{name} is {kind}; it must be hexadecimal text")
    return value.lower()


def _time_ns(value: Any) -> int:
    return 0 if value is None else _integer(value, "a time")


def _integer(value: Any, name: str) -> int:
    """Return an integer that JSON may write as text. Raises Malformed."""
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise Malformed(f"{name} is not an integer of 64 bits")
    return value
