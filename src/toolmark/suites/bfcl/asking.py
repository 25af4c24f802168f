"""How a model is asked: as an entry of the official list, or as its wire's official handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolmark.core.errors import UsageError
from toolmark.core.records import Sampling, ToolFormat
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import default_wording
from toolmark.formats.syntax_format import syntax_formats
from toolmark.official_bfcl import (
    handler_formats,
    handler_settings,
    official_data,
    official_prompt,
    prompt_formats,
)
from toolmark.official_bfcl.handler_formats import FencedPrompt
from toolmark.official_bfcl.handler_settings import HandlerSettings
from toolmark.official_bfcl.official_models import ListedModel
from toolmark.official_bfcl.official_native import OfficialNative
from toolmark.official_bfcl.official_prompt import OfficialPrompt
from toolmark.runs.suite import AskedModel
from toolmark.suites.bfcl.parameters import BfclParameters


@dataclass(frozen=True, slots=True)
class Asking:
    """What the parameters say of how models are asked; `entry` is None where they name none."""

    parameters: BfclParameters
    entry: ListedModel | None

    @classmethod
    def of_parameters(cls, parameters: BfclParameters) -> Asking:
        """Return what the parameters say. Raises UsageError for what no model can be asked as."""
        name = parameters.ask_as
        entry = handler_settings.find_entry(name) if name else None
        asking = cls(parameters, entry)
        if prompt_formats.CATEGORY in parameters.category and not asking.has_prompt_formats:
            kind = (
                "makes structured calls, and officially no such model is asked"
                if entry is not None and entry.is_native
                else "has one prompt of its own, so it cannot be asked"
            )
            raise UsageError(
                f"{name} {kind} {prompt_formats.CATEGORY}; next: leave the category out"
            )
        return asking

    @property
    def has_prompt_formats(self) -> bool:
        """Whether a model can be asked the prompt formats: not by calls, nor by another prompt."""
        if self.entry is None:
            return True
        settings = handler_settings.settings_of_entry(self.entry)
        return not self.entry.is_native and not settings.own_format

    def settings_on(self, wire: str) -> HandlerSettings:
        """Return how the entry's handler asks, without an entry that of a wire.

        Raises UsageError for a wire that the handler does not use; "" is no wire.
        """
        if self.entry is None:
            return handler_settings.settings_of_wire(wire)
        settings = handler_settings.settings_of_entry(self.entry)
        if wire and settings.wire != wire:
            raise UsageError(
                f"as {self.parameters.ask_as} a model is asked on the wire {settings.wire}, and "
                f"this endpoint is asked on {wire}; next: --wire {settings.wire}, or another entry"
            )
        return settings

    def tool_formats(self, settings: HandlerSettings) -> Mapping[str, ToolFormat]:
        """Return the tool formats in which a model can be asked; the first is the default."""
        if self.entry is not None and settings.own_format:
            own = handler_formats.make_own_format(settings.own_format)
            return {own.name: own}
        found: dict[str, ToolFormat] = {}
        if self.entry is None or self.entry.is_native:
            found[NATIVE_FORMAT.name] = OfficialNative(
                settings,
                is_lenient=self.parameters.loop == "lenient",
                underscores_names=self.entry is not None
                and not (self.entry.underscores_for_dots or settings.keeps_dots),
            )
        if self.entry is None or not self.entry.is_native:
            is_official = self.parameters.wording == "official"
            root = official_data.fetch_wheel()
            found |= official_prompt.make_tool_formats(
                prompt_formats.select_format_names(self.parameters.formats),
                official_data.read_prompt_wording(root) if is_official else default_wording(),
                joins_user_messages=settings.joins_user_messages,
                kind=self._prompt_kind(settings),
            )
        # toolmark's own: no official entry is asked in them
        return found if self.entry is not None else {**found, **syntax_formats()}

    def _prompt_kind(self, settings: HandlerSettings) -> type[OfficialPrompt]:
        """Return the kind of prompts; only an entry's handler reads what its models write."""
        is_fenced = self.entry is not None and settings.removes_fences
        return FencedPrompt if is_fenced else OfficialPrompt

    def sampling(self, settings: HandlerSettings, asked: AskedModel) -> Sampling:
        """Return the handler's settings; none for a model in this process."""
        is_native = asked.tool_format == NATIVE_FORMAT.name
        if not asked.wire:
            return Sampling()
        if self.entry is not None:
            return settings.sampling_of(self.entry.model_name, is_native=is_native)
        return handler_settings.default_sampling(
            asked.wire, asked.name, asked.url, is_native=is_native
        )
