"""The table of call syntaxes: how models write calls as text, each by its literals.

The same rows serve three purposes: finding calls that a server did not parse, reading them, and
asking for them (`syntax_format`). A literal that is empty does not occur in the syntax.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table

SyntaxShape: TypeAlias = Literal["json", "named_json", "tagged", "python", "unread"]
"""What is between the literals.

- `json`: an object with name and arguments, or a list of them.
- `named_json`: the name, then the arguments as JSON.
- `tagged`: the name, then each argument between literals of its own.
- `python`: calls as Python writes them.
- `unread`: the name is found, but the arguments are not read.
"""


class CallTemplates(DataRecord, frozen=True):
    """How a syntax is written, with words in braces for what is filled in.

    - `calls_open`, `separator`, `calls_close`: what stands before, between and after the calls.
    - `call`: one call, of `{call}`, or of `{name}`, `{index}` and `{arguments}`.
    - `argument`: one argument of a tagged call, of `{key}` and `{value}`.
    - `result`: one result, of `{name}`, `{index}` and `{result}`; "" for one JSON list of all.
    """

    call: Annotated[str, Meta(pattern=placeholders("call", "name", "index", "arguments"))]
    separator: str
    calls_open: str = ""
    calls_close: str = ""
    argument: Annotated[str, Meta(pattern=placeholders("key", "value"))] = ""
    arguments_key: str = "arguments"
    result: Annotated[str, Meta(pattern=placeholders("name", "index", "result"))] = ""


class CallSyntax(DataRecord, frozen=True):
    """One syntax.

    - `name`: as vLLM names its parser, where it has one.
    - `models`: who writes it.
    - `markers`: literals that begin such calls in any text. `signs`: one of them must follow soon.
    - `may_be_bare`: a text may also begin with such a call without a marker.
    - `name_open` to `value_close`: the literals around calls, names, keys and values.
    - `is_numbered`: a name is written as `functions.NAME:INDEX`.
    - `server_flag`: what makes vLLM parse it.
    - `render`: how it is written; without it, replies cannot be asked in it.
    """

    name: str
    models: str
    example: str
    shape: SyntaxShape
    markers: Annotated[list[Annotated[str, Meta(min_length=4)]], Meta(max_length=8)] = []
    signs: list[str] = []
    may_be_bare: bool = False
    is_numbered: bool = False
    call_open: str = ""
    call_close: str = ""
    name_open: str = ""
    name_close: str = ""
    key_open: str = ""
    key_close: str = ""
    value_open: str = ""
    value_close: str = ""
    server_flag: str = ""
    render: CallTemplates | None = None


class CallSyntaxes(DataRecord, frozen=True):
    """The table: the syntaxes, and words that several of them share."""

    syntaxes: list[CallSyntax]
    abstentions: frozenset[str]
    name_keys: list[str]
    arguments_keys: list[str]


def call_syntaxes() -> CallSyntaxes:
    """Return the table."""
    return read_table(__file__, "call_syntaxes.toml", CallSyntaxes)


@cache
def syntax_by_name() -> dict[str, CallSyntax]:
    """Return the syntaxes by name, in the order of the table."""
    return {each.name: each for each in call_syntaxes().syntaxes}


def parser_step(syntax: CallSyntax) -> str:
    """Return what to do about replies with calls of a syntax that no parser read."""
    step = "start the server's tool parser"
    if syntax.server_flag:
        step += f" (vLLM: --enable-auto-tool-choice {syntax.server_flag})"
    other = syntax.name if syntax.render is not None else "prompt"
    return f"{step}, or ask with --tool-format {other}"


def askable_syntaxes() -> list[CallSyntax]:
    """Return the syntaxes that replies can be asked in."""
    return [each for each in call_syntaxes().syntaxes if each.render is not None]
