"""The official handlers of all listed models as an oracle, run in a process of their own.

Usage: `python official_handlers.py WHEEL_FOLDER < jobs > answers`, both JSON lists. A job is the
name of a method of `Handlers` and its arguments. The vendors' packages are stood in for; what the
handlers' decoders evaluate is let through where it is arithmetic, names and literals.
"""

import ast
import builtins
import importlib
import inspect
import sys
from typing import Any

wheel: Any = importlib.import_module("wheel")  # beside this script, as is the next
turns: Any = importlib.import_module("official_turns")

EVALUATE = vars(builtins)["eval"]
HARMLESS = (
    ast.Add, ast.Constant, ast.Dict, ast.Expression, ast.List, ast.Load, ast.Mult, ast.Name,
    ast.Set, ast.Sub, ast.Tuple, ast.UAdd, ast.USub, ast.UnaryOp, ast.BinOp, ast.keyword,
)  # fmt: skip


def guarded(source: str) -> Any:
    """Evaluate, in the caller's place, what does nothing or fails on an unknown name."""
    caller = inspect.currentframe()
    assert caller is not None and caller.f_back is not None
    names, here = caller.f_back.f_globals, caller.f_back.f_locals
    known = {*vars(builtins), *names, *here}
    try:
        nodes = list(ast.walk(ast.parse(source.lstrip(" \t"), mode="eval")))
    except (SyntaxError, ValueError):
        nodes = []
    if not all(isinstance(node, HARMLESS) or unknown(node, known) for node in nodes):
        raise wheel.Evaluated
    return EVALUATE(source, names, here)


def unknown(node: ast.AST, known: set[str]) -> bool:
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id not in known


class Handlers:
    """Judges entries of result files as `bfcl evaluate` does, each by its model's handler."""

    def __init__(self, path: str, scratch: str) -> None:
        self.turns = turns.Official(path, scratch, None)
        self.runner = self.turns.runner
        listed = importlib.import_module("bfcl_eval.constants.model_config")
        self.models = listed.MODEL_CONFIG_MAPPING
        self.enums = importlib.import_module("bfcl_eval.constants.enums")
        for module in {config.model_handler.__module__ for config in self.models.values()}:
            vars(sys.modules[module])["eval"] = guarded

    def names(self) -> list[list[Any]]:
        """Return every listed model with its handler, and whether it makes structured calls."""
        return [
            [name, config.model_handler.__name__, config.is_fc_model, config.underscore_to_dot]
            for name, config in self.models.items()
        ]

    def handler(self, model: str) -> Any:
        made = object.__new__(self.models[model].model_handler)
        made.is_fc_model = self.models[model].is_fc_model
        return made

    def one(self, model: str, category: str, row: int, result: Any) -> list[Any]:
        """Judge a single-turn entry: [valid, error type], or ["evaluated", ""]."""
        entry = dict(self.turns.rows(f"BFCL_v4_{category}.json")[row])
        handler = self.handler(model)
        try:
            if "relevance" in category:
                verdict = self.runner._evaluate_single_relevance_entry(
                    handler, entry["id"], result, entry, model, category
                )
            else:
                truth = self.turns.rows(f"possible_answer/BFCL_v4_{category}.json")[row]
                verdict = self.runner._evaluate_single_ast_entry(
                    handler, entry["id"], result, truth["ground_truth"], entry, model, category,
                    self.enums.Language.PYTHON, self.enums.ReturnFormat.PYTHON,
                )  # fmt: skip
        except wheel.Evaluated:
            return ["evaluated", ""]
        return [verdict["valid"], verdict.get("error_type", "")]

    def several(self, model: str, category: str, row: int, result: Any) -> list[Any]:
        """Judge a multi-turn entry: [valid, error type]."""
        judged: list[Any] = self.turns.judged(self.handler(model), category, row, result)
        return judged

    def found(self, model: str, result: Any, truth: list[str]) -> list[Any]:
        """Judge an agentic entry: [valid, error type]."""
        try:
            verdict = self.runner._evaluate_single_agentic_entry(
                self.handler(model), "any", result, truth, {"question": []}, model, "memory_kv"
            )
        except wheel.Evaluated:
            return ["evaluated", ""]
        return [verdict["valid"], verdict.get("error", {}).get("error_type", "")]


if __name__ == "__main__":
    wheel.serve(Handlers)
