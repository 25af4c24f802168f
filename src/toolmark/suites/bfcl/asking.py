"""How a model is asked: as an entry of the official list, or as its wire's official handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolmark.core.errors import UsageError
from toolmark.core.records import Sampling, ToolFormat
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import default_wording
from toolmark.formats.syntax_format import syntax_formats
from toolmark.official_bfcl import handler_settings, official_data, prompt_formats
from toolmark.official_bfcl.handler_settings import HandlerSettings
from toolmark.official_bfcl.official_models import ListedModel
from toolmark.official_bfcl.official_native import OfficialNative
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
        if entry is not None and entry.is_native and prompt_formats.CATEGORY in parameters.category:
            raise UsageError(
                f"{name} makes structured calls, and officially no such model is asked "
                f"{prompt_formats.CATEGORY}; next: leave the category out"
            )
        return cls(parameters, entry)

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
        found: dict[str, ToolFormat] = {}
        if self.entry is None or self.entry.is_native:
            found[NATIVE_FORMAT.name] = OfficialNative(
                settings,
                is_lenient=self.parameters.loop == "lenient",
                underscores_names=self.entry is not None and not self.entry.underscores_for_dots,
            )
        if self.entry is None or not self.entry.is_native:
            is_official = self.parameters.wording == "official"
            root = official_data.fetch_wheel()
            found |= prompt_formats.make_tool_formats(
                prompt_formats.select_format_names(self.parameters.formats),
                official_data.read_prompt_wording(root) if is_official else default_wording(),
                joins_user_messages=settings.joins_user_messages,
            )
        # toolmark's own: no official entry is asked in them
        return found if self.entry is not None else {**found, **syntax_formats()}

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
