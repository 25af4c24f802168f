"""The official generation loops as an oracle, run in a process of their own.

Usage: `python official_loops.py WHEEL_FOLDER < jobs > answers`, both JSON lists. A job is the name
of a method of `Loops` and its arguments. Handlers ask a local server: through the vendors' packages
where this environment has them, else through stand-ins that send what the packages send.
"""

import ast
import builtins
import contextlib
import importlib
import importlib.util
import os
import sysconfig
import types
from contextlib import nullcontext
from pathlib import Path
from typing import Any

# google is a namespace of many packages; an environment that has anthropic has its own as well
VENDORS = ("anthropic", "mistralai", "openai")
FOUND = [name for name in VENDORS if importlib.util.find_spec(name)]
if "anthropic" in FOUND:  # imported before anything is stubbed
    FOUND.append("google")
    for each in (*FOUND, "google.genai", "openai.types.responses", "requests"):
        importlib.import_module(each)

wheel: Any = importlib.import_module("wheel")  # beside this script, as are the next
if FOUND:  # with all that they import
    wheel.PACKAGES.update(each.stem for each in Path(sysconfig.get_path("purelib")).iterdir())
handlers: Any = importlib.import_module("official_handlers")
standins: Any = importlib.import_module("standins")
clients: Any = importlib.import_module("vendor_clients")

CODE = "bfcl_eval.eval_checker.multi_turn_eval"


# --- the loops --------------------------------------------------------------------------


class Search:
    """Stands for the search service."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked

    def get_dict(self) -> dict[str, Any]:
        return {"organic_results": standins.found(self.asked["q"], self.asked["kl"])}


class Loops:
    """Plays entries as `bfcl generate` does, and judges them as `bfcl evaluate` does."""

    def __init__(self, path: str, scratch: str) -> None:
        self.scratch = Path(scratch)
        wheel.stub("faiss", IndexFlatIP=standins.Index, IndexIDMap=standins.Index)
        wheel.stub("sentence_transformers", SentenceTransformer=standins.Encoder)
        if "anthropic" not in FOUND:
            wheel.stub(
                "anthropic.types", TextBlock=clients.TextBlock, ToolUseBlock=clients.ToolUseBlock
            )
            wheel.stub("google.genai.types", **clients.GOOGLE_TYPES)
        self.handlers = handlers.Handlers(path, scratch)
        self.turns = self.handlers.turns
        self.turns.handler.__dict__["eval"] = handlers.guarded
        self.turns.literal = self.is_harmless
        self.utils = importlib.import_module("bfcl_eval.utils")
        vars(self.utils)["_get_file_lock"] = lambda _path: nullcontext()
        web: Any = importlib.import_module(f"{CODE}.func_source_code.web_search")
        vars(web).update(GoogleSearch=Search, requests=types.SimpleNamespace(get=standins.fetched))

    def is_harmless(self, node: Any) -> bool:
        """Return whether an argument is a literal, or ends with a name that nothing has."""
        known = {*vars(builtins), *vars(self.turns.utils)}
        return bool(handlers.turns.literal(node)) or all(
            isinstance(part, handlers.HARMLESS) or handlers.unknown(part, known)
            for part in ast.walk(node)
        )

    def packages(self) -> list[str]:
        """Return which of the vendors' packages are asked through."""
        return FOUND

    def tools(self, style: str, category: str) -> list[list[Any]]:
        """Return of each entry its id and a digest of its tools, in the style of some handlers."""
        official: Any = importlib.import_module("official")
        types_: Any = importlib.import_module("bfcl_eval.constants.type_mappings")
        with contextlib.redirect_stdout(open(os.devnull, "w")):
            entries = self.utils.load_dataset_entry(category)
        answers = []
        for entry in entries:
            later = [doc for docs in entry.get("missed_function", {}).values() for doc in docs]
            made = self.turns.handler.convert_to_tool(
                [*entry["function"], *later],
                types_.GORILLA_TO_OPENAPI,
                self.handlers.enums.ModelStyle[style],
            )
            found = [tool.get("function", tool) for tool in made]
            for tool in found:
                tool.pop("type", None)
                if "input_schema" in tool:
                    tool["parameters"] = tool.pop("input_schema")
            answers.append([entry["id"], official.digest(found)])
        return answers

    def play(self, model: str, category: str, ids: list[str], url: str) -> list[Any]:
        """Return of each entry its id, its result and its verdict, as [valid, error type]."""
        with contextlib.redirect_stdout(open(os.devnull, "w")):
            entries = self.utils.load_dataset_entry(category)
            self.utils.populate_initial_settings_for_memory_test_cases(entries, self.scratch)
            self.utils.populate_initial_settings_for_web_search_test_cases(entries)
            handler = self.handler(model)
            chosen = [entry for entry in entries if entry["id"] in ids]
            return [self.played(handler, model, category, entry, url) for entry in chosen]

    def handler(self, model: str) -> Any:
        config = self.handlers.models[model]
        os.environ.update(dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "none"))
        os.environ.update(dict.fromkeys(("GOOGLE_API_KEY", "MISTRAL_API_KEY"), "none"))
        return config.model_handler(
            model_name=config.model_name,
            temperature=0.001,
            registry_name=model,
            is_fc_model=config.is_fc_model,
        )

    def played(
        self, handler: Any, model: str, category: str, entry: dict[str, Any], url: str
    ) -> list[Any]:
        id = entry["id"]
        handler.client = client(handler.model_style.name, f"{url}/{id}")
        self.turns.renew()
        try:
            result, _ = handler.inference(entry, False, True)
        except wheel.Evaluated:
            return [id, None, ["evaluated", ""]]
        if "prereq" in id:
            return [id, result, ["", ""]]
        row = int(id.removeprefix(f"{category}_").partition("-")[0])
        if category.startswith("multi_turn"):
            return [id, result, self.turns.judged(handler, category, row, result)]
        kind = "memory" if category.startswith("memory") else "web_search"
        truth = self.turns.rows(f"possible_answer/BFCL_v4_{kind}.json")[row]["ground_truth"]
        return [id, result, self.handlers.found(model, result, truth)]


def client(style: str, url: str) -> Any:
    """Return a client for handlers of a style, at an address without a version."""
    if style == "ANTHROPIC":
        if "anthropic" in FOUND:
            return importlib.import_module("anthropic").Anthropic(base_url=url, api_key="none")
        return clients.Messages(f"{url}/v1")
    if style == "GOOGLE":
        if "anthropic" in FOUND:
            genai = importlib.import_module("google.genai")
            return genai.Client(api_key="none", http_options={"base_url": url})
        return clients.GenerateContent(f"{url}/v1beta")
    if "openai" in FOUND and style != "WRITER":
        return importlib.import_module("openai").OpenAI(base_url=f"{url}/v1", api_key="none")
    made = clients.Responses if style == "OPENAI_RESPONSES" else clients.Chat
    return made(f"{url}/v1")


if __name__ == "__main__":
    wheel.serve(Loops)
