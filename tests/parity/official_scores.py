"""The official evaluator over a whole result folder, run in a process of its own.

Usage: `python official_scores.py WHEEL_FOLDER ROOT MODELS PARTIAL`: reads ROOT/result, writes
ROOT/score, as `bfcl evaluate` does. MODELS is JSON: the registered models by name, with the
fields of the official list. File locks do nothing.
"""

import contextlib
import importlib
import importlib.util
import json
import sys
import types
import warnings
from typing import Any

wheel: Any = importlib.import_module("wheel")  # beside this script

PARSERS = "bfcl_eval.model_handler.parser"


def handler(fields: dict[str, Any]) -> Any:
    """Return a maker of a handler that decodes as the official one for OpenAI completions."""

    class Handler:
        def __init__(self, **_: Any) -> None:
            self.utils = importlib.import_module("bfcl_eval.model_handler.utils")

        def decode_ast(self, result: Any, language: Any, has_tool_call_tag: bool) -> Any:
            if not fields["is_fc_model"]:
                return self.utils.default_decode_ast_prompting(result, language, has_tool_call_tag)
            return [
                {name: json.loads(given) for name, given in list(call.items())[:1]}
                for call in result
            ]

        def decode_execute(self, result: Any, has_tool_call_tag: bool) -> Any:
            if fields["is_fc_model"]:
                return self.utils.convert_to_function_call(result)
            return self.utils.default_decode_execute_prompting(result)

    return Handler


def prepare(path: str, root: str, models: dict[str, dict[str, Any]]) -> Any:
    """Return the official runner module."""
    known = {
        name: types.SimpleNamespace(model_name=name, model_handler=handler(fields), **fields)
        for name, fields in models.items()
    }
    wheel.unpack(path, root, known)
    wheel.stub("filelock", FileLock=lambda _path: contextlib.nullcontext())
    wheel.stub("tqdm", tqdm=lambda found, **_: found)
    if importlib.util.find_spec("tree_sitter") is None:
        wheel.stub(f"{PARSERS}.java_parser", parse_java_function_call=None)
        wheel.stub(f"{PARSERS}.js_parser", parse_javascript_function_call=None)
    return importlib.import_module("bfcl_eval.eval_checker.eval_runner")


def main() -> None:
    warnings.simplefilter("ignore")
    path, root, models, partial = sys.argv[1:]
    runner = prepare(path, root, json.loads(models))
    with contextlib.redirect_stdout(sys.stderr):
        runner.main(None, ["all"], None, None, partial_eval=partial == "partial")


if __name__ == "__main__":
    main()
