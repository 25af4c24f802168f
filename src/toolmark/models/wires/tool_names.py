"""Tools under names that a provider accepts, and their own names again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from toolmark.core.json_codec import restore_surrogates
from toolmark.core.records import Adaptation, Tool

_MAX_CACHED_OFFERS = 256


class LegalNames(NamedTuple):
    """Which names of tools a wire accepts: the first character, the others, the length.

    Character sets are written as inside the brackets of a regular expression.
    """

    first: str
    others: str
    max_chars: int


class ToolNames(NamedTuple):
    """One offer of tools as sent: encoded, with the names that had to be changed."""

    tools: tuple[Tool, ...]
    encoded: bytes
    sent: dict[str, str]
    original: dict[str, str]
    schema_changes: tuple[Adaptation, ...] = ()

    def own_name(self, sent_name: str) -> str:
        """Return the tool's own name for a name as sent."""
        return self.original.get(sent_name, sent_name)

    @property
    def adaptations(self) -> tuple[Adaptation, ...]:
        """The names and schemas that were changed."""
        return (
            tuple(
                Adaptation(kind="tool_name", detail=f"{own} -> {sent}")
                for own, sent in self.sent.items()
            )
            + self.schema_changes
        )


NO_TOOLS = ToolNames((), b"", {}, {})
"""The names of a request without tools."""


class ToolNamer:
    """Makes names legal, and encodes each tuple of tools once.

    `encode_tools` gets the tools and their names as sent, and returns the part of the body.
    `find_changes` returns what that changes of the schemas.
    """

    def __init__(
        self,
        legal: LegalNames,
        encode_tools: Callable[[tuple[Tool, ...], dict[str, str]], bytes],
        find_changes: Callable[[tuple[Tool, ...]], tuple[Adaptation, ...]] = lambda tools: (),
    ) -> None:
        self._legal = legal
        self._encode_tools = encode_tools
        self._find_changes = find_changes
        self._illegal_char = re.compile(f"[^{legal.others}]")
        self._match_legal = re.compile(
            f"[{legal.first}][{legal.others}]{{0,{legal.max_chars - 1}}}"
        ).fullmatch
        self._match_first = re.compile(f"[{legal.first}]").match
        self._by_offer: dict[int, ToolNames] = {}

    def name_tools(self, tools: tuple[Tool, ...]) -> ToolNames:
        """Return the tools as sent; the same tuple object is encoded once."""
        # the entry refers to the tuple, so that no other object gets its id while it is cached
        found = self._by_offer.get(id(tools))
        if found is None:
            if len(self._by_offer) >= _MAX_CACHED_OFFERS:
                del self._by_offer[next(iter(self._by_offer))]
            found = self._by_offer[id(tools)] = self._make_names(tools)
        return found

    def sent_name(self, name: str, names: ToolNames) -> str:
        """Return the name as sent; a name that the model invented is made legal too."""
        if self._match_legal(name):
            return name
        return names.sent.get(name) or self._legal_name(restore_surrogates(name))

    def _make_names(self, tools: tuple[Tool, ...]) -> ToolNames:
        sent: dict[str, str] = {}
        illegal = [tool.name for tool in tools if not self._match_legal(tool.name)]
        if illegal:
            taken = {tool.name for tool in tools}.difference(illegal)
            for name in dict.fromkeys(illegal):
                sent[name] = self._unused_name(name, taken)
                taken.add(sent[name])
        original = {sent_name: own for own, sent_name in sent.items()}
        encoded = self._encode_tools(tools, sent) if tools else b""
        return ToolNames(tools, encoded, sent, original, self._find_changes(tools))

    def _legal_name(self, name: str) -> str:
        legal = self._illegal_char.sub("_", name)[: self._legal.max_chars]
        if legal and not self._match_first(legal):
            legal = f"_{legal}"[: self._legal.max_chars]
        return legal or "_"

    def _unused_name(self, name: str, taken: set[str]) -> str:
        """Return a legal name that is not taken, with a suffix if necessary."""
        legal = candidate = self._legal_name(name)
        n = 1
        while candidate in taken:
            n += 1
            suffix = f"_{n}"
            candidate = legal[: self._legal.max_chars - len(suffix)] + suffix
        return candidate
