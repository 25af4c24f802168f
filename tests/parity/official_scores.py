"""The official evaluator over a whole result folder, run in a process of its own.

Usage: `python official_scores.py WHEEL_FOLDER ROOT MODELS PARTIAL`: reads ROOT/result, writes
ROOT/score, as `bfcl evaluate` does. MODELS is JSON: the registered models by name, with the
fields of the official list. What the wheel imports and does not use here is stubbed; file locks do
nothing.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import types
import warnings
from typing import Any

PARSERS = "bfcl_eval.model_handler.parser"


def stub(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


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


def prepare(wheel: str, root: str, models: dict[str, dict[str, Any]]) -> Any:
    """Return the official runner module."""
    os.environ["BFCL_PROJECT_ROOT"] = root
    sys.path.insert(0, wheel)
    stub(
        "tenacity",
        retry=None,
        retry_if_exception_message=None,
        retry_if_exception_type=None,
        wait_random_exponential=None,
    )
    stub("filelock", FileLock=lambda path: contextlib.nullcontext())
    stub("overrides", final=None)
    stub("pandas")
    stub("tqdm", tqdm=lambda found, **_: found)
    stub("dotenv", load_dotenv=None)
    stub("bfcl_eval.model_handler.base_handler", BaseHandler=object)
    known = {
        name: types.SimpleNamespace(model_name=name, model_handler=handler(fields), **fields)
        for name, fields in models.items()
    }
    stub("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING=known)
    if importlib.util.find_spec("tree_sitter") is None:
        stub(f"{PARSERS}.java_parser", parse_java_function_call=None)
        stub(f"{PARSERS}.js_parser", parse_javascript_function_call=None)
    return importlib.import_module("bfcl_eval.eval_checker.eval_runner")


def main() -> None:
    warnings.simplefilter("ignore")
    wheel, root, models, partial = sys.argv[1:]
    runner = prepare(wheel, root, json.loads(models))
    with contextlib.redirect_stdout(sys.stderr):
        runner.main(None, ["all"], None, None, partial_eval=partial == "partial")


if __name__ == "__main__":
    main()
