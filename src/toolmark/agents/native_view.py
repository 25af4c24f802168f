"""How a model that makes calls as records plays in a tool format whose calls are text.

The loop shows and reads text, as the tool format says. The model is shown the same conversation
with tools, calls and results as records, and its calls are written in the format, as a model would
write them. So what is measured of it is what the format can carry.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import (
    Call,
    Message,
    ParsedReply,
    Reply,
    Request,
    Result,
    Tool,
    ToolFormat,
)
from toolmark.formats.native_format import NATIVE_FORMAT


class NativeView:
    """A tool format of one episode, which notes the conversation as the native format has it."""

    def __init__(self, tool_format: ToolFormat) -> None:
        self.tool_format = tool_format
        self.name = tool_format.name
        self.calls_in_text = tool_format.calls_in_text
        self.messages: tuple[Message, ...] = ()
        self.tools: tuple[Tool, ...] = ()
        self.last_reply = Reply()

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return what the format returns."""
        self.messages, self.tools = messages, tools
        return self.tool_format.render_opening(messages, tools)

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return what the format returns."""
        self.messages += messages
        self.tools += tools
        return self.tool_format.render_turn(messages, tools)

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Return what the format reads."""
        return self.tool_format.parse_reply(reply, tools)

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return what the format returns."""
        self.messages += NATIVE_FORMAT.render_results(self.last_reply, calls, results)
        return self.tool_format.render_results(reply, calls, results)

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the calls as the format writes them."""
        return self.tool_format.render_calls(calls)


class NativeViewModel(DelegatingModel):
    """A model that is asked with the conversation of a view, and whose calls become text."""

    def __init__(self, model: Model, view: NativeView) -> None:
        super().__init__(model)
        self.view = view

    async def __call__(self, request: Request, /) -> Reply:
        """Return the model's reply, its calls as text."""
        view = self.view
        reply = await self.model(replace(request, messages=view.messages, tools=view.tools))
        view.last_reply = replace(reply, calls=())
        if not reply.calls:
            return reply
        written = view.render_calls(reply.calls)
        return replace(reply, text=written.text, calls=written.calls)
