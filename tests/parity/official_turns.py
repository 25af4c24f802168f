"""The official multi-turn evaluator as an oracle, run in a process of its own.

Usage: `python official_turns.py WHEEL_FOLDER < jobs > answers`, both JSON lists. A job is the name
of a method of `Official` and its arguments. Between entries the process is made as good as new:
instances are dropped, and what the simulators share at module level is put back.
"""

import ast
import builtins
import copy
import importlib
import time
from typing import Any

wheel: Any = importlib.import_module("wheel")  # beside this script

EVALUATE = vars(builtins)["eval"]  # what the official code does, given back to it behind a guard
CODE = "bfcl_eval.eval_checker.multi_turn_eval"
NO_MODELS: dict[str, Any] = {}


class Handler:
    """Decodes as the official handlers do: calls as the endpoint gave them, or text."""

    def __init__(self, utils: Any, form: str) -> None:
        self.utils = utils
        self.form = form

    def decode_execute(self, result: Any, has_tool_call_tag: bool) -> Any:
        if self.form == "native":
            return self.utils.convert_to_function_call(result)
        return self.utils.default_decode_execute_prompting(result, has_tool_call_tag)


class Official:
    """The official evaluator of one multi-turn entry."""

    def __init__(self, path: str, scratch: str, models: dict[str, Any] | None = NO_MODELS) -> None:
        wheel.unpack(path, scratch, models)
        parsers = "bfcl_eval.model_handler.parser"
        wheel.stub(f"{parsers}.java_parser", parse_java_function_call=wheel.refuse)
        wheel.stub(f"{parsers}.js_parser", parse_javascript_function_call=wheel.refuse)
        self.handler = importlib.import_module("bfcl_eval.model_handler.utils")
        vars(self.handler)["eval"] = wheel.refuse
        self.runner = importlib.import_module("bfcl_eval.eval_checker.eval_runner")
        self.utils = importlib.import_module(f"{CODE}.multi_turn_utils")
        self.known = set(vars(self.utils))
        vars(self.utils)["eval"] = self.guarded
        self.rows = wheel.Files(path)
        self.padding = importlib.import_module(f"{CODE}.func_source_code.long_context")
        self.posting = importlib.import_module(f"{CODE}.func_source_code.posting_api").TwitterAPI
        collected = vars(self.padding).items()
        self.first = {
            name: copy.deepcopy(x)
            for name, x in collected
            if name.isupper() and isinstance(x, dict)
        }

    def guarded(self, source: str) -> Any:
        """Evaluate a call of an instance, or what will not get further than its name."""
        try:
            node = ast.parse(source.strip(" \t"), mode="eval").body
        except SyntaxError:
            return EVALUATE(source, vars(self.utils))
        if not isinstance(node, ast.Call) or not self.harmless(node):
            raise wheel.Evaluated
        return EVALUATE(source, vars(self.utils))

    def harmless(self, node: ast.Call) -> bool:
        callee = node.func
        top = callee
        while isinstance(top, ast.Attribute):
            top = top.value
        if not isinstance(top, ast.Name):
            return False
        ours = top.id.endswith("_instance") and isinstance(callee, ast.Attribute)
        if not ours and (top.id in self.known or hasattr(builtins, top.id)):
            return False
        return all(map(self.literal, (*node.args, *(key.value for key in node.keywords))))

    def literal(self, node: ast.expr) -> bool:
        """Return whether evaluating an argument does nothing but fail."""
        return literal(node)

    def renew(self) -> None:
        for name in [x for x in vars(self.utils) if x.endswith("_instance")]:
            del vars(self.utils)[name]
        for name, value in self.first.items():
            collected = getattr(self.padding, name)
            collected.clear()
            collected.update(copy.deepcopy(value))
        self.posting.post_tweet.__defaults__ = ([], [])

    def judge(self, category: str, row: int, form: str, result: Any) -> list[Any]:
        """Judge an entry of a result file, native calls or text.

        Returns [valid, error type], or ["crash", why] or ["evaluated", ""].
        """
        return self.judged(Handler(self.handler, form), category, row, result)

    def judged(self, handler: Any, category: str, row: int, result: Any) -> list[Any]:
        """Judge an entry of a result file that a handler decodes, as `judge`."""
        entry = dict(self.rows(f"BFCL_v4_{category}.json")[row])
        truth = self.rows(f"possible_answer/BFCL_v4_{category}.json")[row]["ground_truth"]
        self.renew()
        try:
            verdict = self.runner._evaluate_single_multi_turn_entry(
                handler, entry["id"], result, truth, entry, "model", category
            )
        except wheel.Evaluated:
            return ["evaluated", ""]
        except Exception as error:
            return ["crash", repr(error)]
        return [verdict["valid"], "" if verdict["valid"] else verdict["error"]["error_type"]]

    def source(self, text: str, methods: dict[str, str]) -> str:
        """Return a call's source as the executor evaluates it; `methods` gives the instances."""
        rewritten: str = self.utils._process_method_calls(text, methods)
        return rewritten

    def time(self, jobs: list[Any], rounds: int) -> float:
        """Return the least processor time in seconds to judge entries, native calls only.

        The evaluator's own `eval` is used, and renewing the process is not counted.
        """
        vars(self.utils).pop("eval", None)
        handler = Handler(self.handler, "native")
        judge = self.runner._evaluate_single_multi_turn_entry
        best = float("inf")
        for _ in range(rounds):
            spent = 0.0
            for category, row, result in jobs:
                entry = self.rows(f"BFCL_v4_{category}.json")[row]
                truth = self.rows(f"possible_answer/BFCL_v4_{category}.json")[row]["ground_truth"]
                self.renew()
                start = time.process_time()
                judge(handler, entry["id"], result, truth, entry, "model", category)
                spent += time.process_time() - start
            best = min(best, spent)
        return best


def literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return isinstance(node, ast.Name)  # nan and inf end as unknown names
    return True


if __name__ == "__main__":
    wheel.serve(Official)
