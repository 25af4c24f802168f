"""The official prompts and text decoders as an oracle, run in a process of its own.

Usage: `python official_formats.py WHEEL_FOLDER < jobs > answers`, both JSON lists; a job is the
name of a method of `Formats` and its arguments. The Java and JavaScript decoders are the official
ones where the pinned grammars are installed, and refused where they are not.
"""

import contextlib
import importlib
import sys
from typing import Any

base: Any = importlib.import_module("official")  # beside this script, as is the next
wheel: Any = importlib.import_module("wheel")


class Formats:
    """What the wheel makes of prompts and of replies in text."""

    def __init__(self, path: str, scratch: str) -> None:
        self.base = base.Official(path, scratch)
        self.handler = self.base.handler
        vars(self.base.utils)["FileLock"] = lambda *_args, **_kwargs: contextlib.nullcontext()
        for language, short in (("java", "java"), ("javascript", "js")):
            name = f"bfcl_eval.model_handler.parser.{short}_parser"
            del sys.modules[name]
            with contextlib.suppress(ImportError):
                module = importlib.import_module(name)
                function = f"parse_{language}_function_call"
                vars(self.handler)[function] = getattr(module, function)

    def decode(self, text: str, form: str, tag: bool) -> list[Any]:
        """Decode a text: what happened, and the repr of the calls with names as text."""
        try:
            found = self.handler.default_decode_ast_prompting(
                text, self.base.enums.ReturnFormat(form), tag
            )
        except wheel.Evaluated:
            return ["evaluated", ""]
        except Exception:
            return ["failed", ""]
        if not self.base.utils.is_function_calling_format_output(found):
            return ["misshapen", ""]
        calls = [(name, given) for call in found for name, given in call.items()]
        return ["read", repr([(n if isinstance(n, str) else repr(n), g) for n, g in calls])]

    def execute(self, text: str) -> list[Any]:
        """Decode a text into the calls to execute."""
        try:
            return ["read", self.handler.default_decode_execute_prompting(text)]
        except wheel.Evaluated:
            return ["evaluated", []]
        except Exception:
            return ["failed", []]

    def heard(self, text: str, results: list[str]) -> str:
        """Return the message of results that follows a reply."""
        calls = self.handler.default_decode_execute_prompting(text)
        said: str = self.handler.format_execution_results_prompting(
            {}, results, {"model_responses_decoded": calls}
        )
        return said

    def appear(self, docs: list[Any]) -> str:
        """Return the message with which functions appear later."""
        prompts = importlib.import_module("bfcl_eval.constants.default_prompts")
        text: str = prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING
        return text.format(functions=docs)

    def configs(self) -> list[str]:
        """Return the names of the published formats."""
        names: list[str] = self.base.utils.get_all_format_sensitivity_configs()
        return names

    def prompts(self) -> list[list[str]]:
        """Return id and digest of the messages for every format-sensitivity entry."""
        entries = self.base.utils.load_dataset_entry("format_sensitivity")
        return [
            [
                entry["id"],
                base.digest(
                    self.handler.system_prompt_pre_processing_chat_model(
                        entry["question"][0], entry["function"], entry["id"]
                    )
                ),
            ]
            for entry in entries
        ]

    def docs(self, category: str, form: str) -> list[str]:
        """Return the functions of every entry of a category, written as docs."""
        rows = self.base.rows(f"BFCL_v4_{category}.json")
        return [self.handler.format_function_doc(row["function"], form) for row in rows]


if __name__ == "__main__":
    wheel.serve(Formats)
