"""The official agentic code as an oracle, run in a process of its own.

Usage: `python official_agentic.py WHEEL_FOLDER < jobs > answers`, both JSON lists. The encoder and
the index of the vector memory are stubbed: what is compared is the memory around them.
"""

import importlib
import json
import types
from contextlib import nullcontext
from typing import Any

official: Any = importlib.import_module("official")  # beside this script, as are the next
wheel: Any = importlib.import_module("wheel")
standins: Any = importlib.import_module("standins")

HELP = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"


class Handler:
    """What the official runner asks of a model's handler."""

    def __init__(self, decode: Any) -> None:
        self.decode = decode

    def decode_execute(self, result: Any, has_tool_call_tag: bool) -> Any:
        return self.decode(result)


class Agentic:
    """The parts of the wheel that are compared."""

    def __init__(self, path: str, scratch: str) -> None:
        self.base = official.Official(path, scratch)
        vars(self.base.utils)["_get_file_lock"] = lambda _path: nullcontext()
        wheel.stub("faiss", IndexFlatIP=standins.Index, IndexIDMap=standins.Index)
        wheel.stub("sentence_transformers", SentenceTransformer=standins.Encoder)
        self.runner = importlib.import_module("bfcl_eval.eval_checker.eval_runner")
        handler = self.base.handler
        self.handlers = {
            "native": Handler(handler.convert_to_function_call),
            "prompt": Handler(handler.default_decode_execute_prompting),
        }

    def judge(self, tool_format: str, result: Any, truth: list[str]) -> list[Any]:
        verdict = self.runner._evaluate_single_agentic_entry(
            self.handlers[tool_format], "any", result, truth, {"question": []}, "any", "memory_kv"
        )
        error = verdict.get("error", {})
        return [verdict["valid"], error.get("error_type", "")]

    def memory(self, kind: str, state: Any, calls: list[Any]) -> list[Any]:
        """Return the results of the calls, what is shown at the start, and the final snapshot."""
        module = importlib.import_module(f"{HELP}.memory_{kind}")
        store = getattr(module, f"MemoryAPI_{kind}")()
        store._prepare_snapshot = lambda _config: state
        store._load_scenario({})
        shown = store._dump_core_memory_to_context()
        results = [_result(store, name, given) for name, given in calls]
        if kind == "rec_sum":
            return [results, shown, {"memory": store.memory}]
        collected = {"core_memory": store.core_memory, "archival_memory": store.archival_memory}
        if kind == "vector":
            collected = {name: pile.export() for name, pile in collected.items()}
        return [results, shown, collected]

    def asked(self, category: str) -> list[Any]:
        """Return the entries: id, needs, messages before memory is shown, docs."""
        entries = self.base.utils.load_dataset_entry(category)
        return [[e["id"], e.get("depends_on", []), e["question"], e["function"]] for e in entries]

    def opened(self, category: str, scenario: str, question: Any, state: Any) -> Any:
        """Return the question with what the memory shows put into it."""
        store = types.SimpleNamespace(_dump_core_memory_to_context=lambda: state)
        return self.base.handler.add_memory_instruction_system_prompt(
            question, category, scenario, store
        )


def _result(store: Any, name: str, given: dict[str, Any]) -> str:
    try:
        made = getattr(store, name)(**given)
    except Exception as error:
        return f"Error during execution: {error}"
    return json.dumps(made)


if __name__ == "__main__":
    wheel.serve(Agentic)
