"""The official agentic code as an oracle, run in a process of its own.

Usage: `python official_agentic.py WHEEL_FOLDER < jobs > answers`, both JSON lists. The encoder and
the index of the vector memory are stubbed: what is compared is the memory around them.
"""

import importlib
import json
import types
from contextlib import nullcontext
from typing import Any

import numpy as np

official: Any = importlib.import_module("official")  # beside this script, as is the next
wheel: Any = importlib.import_module("wheel")

HELP = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"


class Encoder:
    """Counts letters, so that equal texts are near and others mostly not."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    def get_sentence_embedding_dimension(self) -> int:
        return 26

    def encode(self, texts: list[str], **_kwargs: Any) -> Any:
        return np.stack([row(text) for text in texts])


def row(text: str) -> Any:
    counts = [1e-3 + text.lower().count(chr(97 + i)) for i in range(26)]
    vector = np.array(counts, dtype=np.float32)
    return vector / np.linalg.norm(vector)


class Index:
    """An exact search by inner product, as the flat index of faiss."""

    def __init__(self, *_args: Any) -> None:
        self.reset()

    def reset(self) -> None:
        self.rows: dict[int, Any] = {}

    def add_with_ids(self, vectors: Any, ids: Any) -> None:
        self.rows.update(zip(map(int, ids), vectors, strict=True))

    def remove_ids(self, ids: Any) -> None:
        for id in ids:
            del self.rows[int(id)]

    def search(self, query: Any, k: int) -> Any:
        assert k > 0
        ids = sorted(self.rows)
        scores = np.stack([self.rows[id] for id in ids]) @ query[0]
        best = np.argsort(-scores, kind="stable")[:k]
        return scores[best][None], np.array(ids)[best][None]


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
        wheel.stub("faiss", IndexFlatIP=Index, IndexIDMap=Index)
        wheel.stub("sentence_transformers", SentenceTransformer=Encoder)
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
        held = {"core_memory": store.core_memory, "archival_memory": store.archival_memory}
        if kind == "vector":
            held = {name: pile.export() for name, pile in held.items()}
        return [results, shown, held]

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
