"""The official BFCL code as an oracle, run in a process of its own.

Usage: `python official.py WHEEL_FOLDER < jobs > answers`, both JSON lists. A job is the name of a
method of `Official` and its arguments.
"""

import ast
import copy
import hashlib
import importlib
import json
import time
import types
from typing import Any

wheel: Any = importlib.import_module("wheel")  # beside this script

CONVERTERS = "bfcl_eval.eval_checker.ast_eval.type_convertor"
LANGUAGES = {"simple_java": "java", "simple_javascript": "javascript"}


class Official:
    """The parts of the wheel that are compared."""

    def __init__(self, path: str, scratch: str) -> None:
        plain = types.SimpleNamespace(underscore_to_dot=False)
        wheel.unpack(path, scratch, {"any": plain})
        parsers = "bfcl_eval.model_handler.parser"
        wheel.stub(f"{parsers}.java_parser", parse_java_function_call=wheel.refuse)
        wheel.stub(f"{parsers}.js_parser", parse_javascript_function_call=wheel.refuse)
        self.utils = importlib.import_module("bfcl_eval.utils")
        self.handler = importlib.import_module("bfcl_eval.model_handler.utils")
        vars(self.handler)["eval"] = wheel.refuse
        self.enums = importlib.import_module("bfcl_eval.constants.enums")
        self.types = importlib.import_module("bfcl_eval.constants.type_mappings")
        java = importlib.import_module(f"{CONVERTERS}.java_type_converter")
        script = importlib.import_module(f"{CONVERTERS}.js_type_converter")
        # it tells its failures on standard output, which here holds the answers
        vars(script)["print"] = lambda *_args: None
        self.converters = {
            "simple_java": java.java_type_converter,
            "simple_javascript": script.js_type_converter,
        }
        self.checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
        self.rows = wheel.Files(path)

    def checked(self, category: str, row: int, made: list[Any]) -> dict[str, Any]:
        docs = self.rows(f"BFCL_v4_{category}.json")[row]["function"]
        truth = self.rows(f"possible_answer/BFCL_v4_{category}.json")[row]["ground_truth"]
        language = self.enums.Language(LANGUAGES.get(category, "python"))
        verdict: dict[str, Any] = self.checker.ast_checker(
            docs, made, truth, language, category, "any"
        )
        return verdict

    def match(self, category: str, row: int, made: str) -> list[Any]:
        """Check calls, given as the repr of a list of one-key dicts.

        Returns valid, error type, and the error types of the calls tried for a parallel truth.
        """
        try:
            verdict = self.checked(category, row, ast.literal_eval(made))
        except Exception as error:
            return ["crash", repr(error), []]
        if verdict["valid"]:
            return [True, "", []]
        tried = [next(iter(x.values())) for x in verdict["error"] if isinstance(x, dict)]
        return [False, verdict["error_type"], [x["sub_error_type"] for x in tried]]

    def convert(self, category: str, text: str, kind: str, inner: str | None) -> str:
        """Return the repr of what a converter makes of a text, "crash" where it fails."""
        try:
            return repr(self.converters[category](text, kind, inner))
        except Exception:
            return "crash"

    def time(self, outputs: list[Any], rounds: int) -> float:
        """Return the best time in seconds to check all outputs, each as in `match`."""
        read = [(category, row, ast.literal_eval(made)) for category, row, made in outputs]
        best = float("inf")
        for _ in range(rounds):
            start = time.process_time()
            for category, row, made in read:
                self.checked(category, row, made)
            best = min(best, time.process_time() - start)
        return best

    def text(self, text: str) -> list[Any]:
        """Decode a text reply: [what happened, repr of the calls, whether they count as none]."""
        try:
            found = self.handler.default_decode_ast_prompting(text)
        except wheel.Evaluated:
            return ["evaluated", "", True]
        except Exception as error:
            return ["failed", repr(error), True]
        shaped = self.utils.is_function_calling_format_output(found)
        return [
            "read" if shaped else "misshapen",
            repr([(name, given) for call in found for name, given in call.items()]),
            self.utils.is_empty_output(found),
        ]

    def asked(self, category: str) -> list[Any]:
        """Return per entry the digests of its prompt and of its tools."""
        entries = copy.deepcopy(self.rows(f"BFCL_v4_{category}.json"))
        entries = self.utils.add_language_specific_hint_to_function_doc(entries)
        answers = []
        for entry in entries:
            tools = self.handler.convert_to_tool(
                entry["function"],
                self.types.GORILLA_TO_OPENAPI,
                self.enums.ModelStyle.OPENAI_COMPLETIONS,
            )
            messages = self.handler.system_prompt_pre_processing_chat_model(
                entry["question"][0], entry["function"], entry["id"]
            )
            answers.append([entry["id"], digest(messages), digest(tools)])
        return answers


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    wheel.serve(Official)
