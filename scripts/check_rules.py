"""The rules of the house, checked in one pass: `python scripts/check_rules.py`.

Prints one line for each place that breaks a rule, then the counts. Exit code 1 where there is any.
Imports are read from the syntax tree, those inside functions and for type checkers included, and
from `module:attribute` strings.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolmark"

# Rooms by level. A module imports from its own room and from lower levels.
LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"core"}),
    frozenset({"language", "models", "statistics", "sources", "formats"}),
    frozenset({"scoring", "environments", "perturb", "generation"}),
    frozenset({"agents"}),
    frozenset({"runs"}),
    frozenset({"authoring", "baselines", "official_bfcl", "verification"}),
    frozenset({"suites"}),
    frozenset({"reports"}),
    frozenset({"studio"}),
    frozenset({"api"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}

GRADERS = frozenset({"scoring", "statistics", "formats"})
TRANSPORTS = frozenset(
    {"pyreqwest", "aiohttp", "httpx", "uvloop", "asyncio", "socket", "subprocess"}
)
EVALUATORS = frozenset({"eval", "exec", "compile", "__import__"})
UNPICKLERS = frozenset({"pickle", "marshal", "shelve", "yaml"})
# faults of other people's code become "not run" here, and nowhere else
BROAD_CATCHES = frozenset(
    {
        "toolmark.runs.episode_execution",
        "toolmark.runs.presentation_writer",
        "toolmark.runs.run_scoring",
    }
)

# Abilities of our own objects have defaults in a base class and are never looked up by name. Where
# objects of other packages, or of users, are told apart by their attributes:
ATTRIBUTE_LOOKUPS = {
    "toolmark.cli.wrong_command_lines": "errors of click differ in what they hold",
    "toolmark.environments.public_web": "errors of pyreqwest may have details",
    "toolmark.models.http_client": "errors of pyreqwest may have details",
    "toolmark.models.user_model": "the name and `close` of a plain object of the user",
    "toolmark.official_bfcl.simulators": "files, folders and modules of the official package",
    "toolmark.official_bfcl.truth_replay": "files and folders of the official package",
    "toolmark.perturb.speech.audio_clip": "errors of libsndfile, which is imported when needed",
    "toolmark.runs.code_hashes": "import finders of other packages",
    "toolmark.suites.m3.local.workspace_state.file_readers": "shapes of python-pptx",
    "toolmark.suites.m3.local.workspace_state.read_budget": "flags that some systems lack",
    "toolmark.suites.mfcl_vision.picture_variants": "JPEG segments of some pictures of Pillow",
}

RETIRED_WORDS = frozenset(
    """
    told kept held lose loses mend mends mended sure able sit sits cast crew door booth purse shelf
    weave hunt beside knob knobs dialect dialects instrument instruments
    """.split()  # noqa: SIM905
)
# with a hyphen before or after, a word is part of a name in data
RETIRED_TEXT = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(RETIRED_WORDS))})(?![\w-])|\b(?:of yours|of one's own)\b",
    re.IGNORECASE,
)
# Modules whose texts hold such a word: what other people write, what a prompt says to a model, and
# doors and shelves that are drawn.
OTHER_TEXTS = {
    "toolmark.suites.m3.judge_questions": "a prompt",
    "toolmark.suites.m3.local.families.label_tasks": "a library's shelf marks",
    "toolmark.suites.m3.local.families.stock_tasks": "a shelf of a shop",
    "toolmark.suites.m3.local.pictures.printed_papers": "a style of forms, drawn by its name",
    "toolmark.suites.m3.local.pictures.signs_and_shelves": "a shelf is drawn",
    "toolmark.suites.mfcl_speech.clarification_phrases": "what models write",
    "toolmark.suites.mfcl_speech.model_rewording": "a prompt",
    "toolmark.suites.mfcl_speech.wording_fidelity": "what models write",
    "toolmark.suites.mfcl_vision.final_answer": "what models write",
    "toolmark.suites.mfcl_vision.prompts": "a prompt",
    "toolmark.suites.mfcl_vision.scenes": "a shelf is drawn",
    "toolmark.suites.mfcl_vision.scenes.street_scene": "a door is drawn",
    "toolmark.suites.mfcl_vision.scenes.wall_scenes": "a shelf is drawn",
    "toolmark.suites.multinet.openx.morphologies": "a prompt",
    "toolmark.suites.multinet.synthetic.robovqa": "a prompt",
    "toolmark.suites.multinet.synthetic.room_drawing": "a door is drawn",
    "toolmark.suites.multinet.synthetic.room_layout": "a door is drawn",
    "toolmark.perturb.speech.synthetic_noise": "a door is heard",
}
BARE_VERBS = frozenset(
    """
    add ask begin bind blame bring build call change check choose close collect come convert copy
    count cut describe do draw drop edit end fetch fill find finish fit fix gather get give go hear
    hold join judge keep know label leave let list load look lose make mark match measure meet mend
    move name note offer open order pair pass pick place plan play print publish put raise read
    record refuse remove render repeat replay report reset resolve rest run save say score search
    see send serve set settle share show sort speak split start state stop store take tell test
    told track try turn unpack use vary wait walk watch weigh win word work write
    """.split()  # noqa: SIM905
)
MOST_BARE_VERBS = 0.01  # of all functions at the top of a module


class Import(NamedTuple):
    """One module of ours that another one names."""

    source: str
    target: str
    line: int


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = ["toolmark", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room of a module: the part below `toolmark`, `` for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def suite_of(module: str) -> str:
    """Return the suite that a module belongs to, `` where it belongs to none."""
    parts = module.split(".")
    return parts[2] if len(parts) > 3 and parts[1] == "suites" else ""


def existing_module(name: str, modules: Mapping[str, object]) -> str:
    """Return the longest leading part of a dotted name that is a module."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def find_imports(module: str, tree: ast.AST, modules: Mapping[str, object]) -> Iterator[Import]:
    """Yield what a module imports of ours, also inside functions and as strings."""
    for node in ast.walk(tree):
        names: list[str] = []
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(module=str(base)):
                names = [f"{base}.{alias.name}" for alias in node.names]
            case ast.Constant(value=str(text)) if re.fullmatch(r"toolmark(\.\w+)+(:\w+)?", text):
                names = [text.partition(":")[0]]
        for name in names:
            if name.partition(".")[0] == "toolmark":
                target = existing_module(name, modules)
                if target not in ("", "toolmark", module):
                    yield Import(module, target, getattr(node, "lineno", 0))


def upward_imports(imports: Iterable[Import]) -> Iterator[Import]:
    """Yield imports that point up, or across to another room of the same level."""
    for edge in imports:
        source, target = room_of(edge.source), room_of(edge.target)
        if source in ("", target):
            continue
        if LEVEL_OF[target] >= LEVEL_OF[source]:
            yield edge


def suite_imports(imports: Iterable[Import]) -> Iterator[Import]:
    """Yield imports from one suite into another."""
    for edge in imports:
        source, target = suite_of(edge.source), suite_of(edge.target)
        if source and target and source != target:
            yield edge


def circles(imports: Iterable[Import]) -> list[list[str]]:
    """Return the groups of modules that import each other, by Tarjan's algorithm."""
    targets: dict[str, set[str]] = defaultdict(set)
    for edge in imports:
        targets[edge.source].add(edge.target)
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for target in sorted(targets[module]):
            if target not in index:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], index[target])
        if lowest[module] == index[module]:
            at = stack.index(module)
            group = sorted(stack[at:])
            del stack[at:]
            if len(group) > 1:
                groups.append(group)

    for module in sorted(targets):
        if module not in index:
            visit(module)
    return groups


def module_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a module, private ones included, methods left out."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


# drawn and sounding things that are really called so
DRAWN_TESTS = frozenset({"test_a_door_slams_at_once_and_dies_away"})
DRAWN_THINGS = frozenset({"draw_shelf", "_draw_door", "door"})


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives: of functions, classes, parameters, fields, variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name):
                yield node.lineno, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def retired_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield names that hold a retired word."""
    for line, name in bound_names(tree):
        if name not in DRAWN_THINGS and RETIRED_WORDS & set(name.lower().strip("_").split("_")):
            yield line, name


def retired_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield retired words in strings: messages, help, options, keys and docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in RETIRED_TEXT.finditer(node.value):
                yield node.lineno, found[0]


def retired_docs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield retired words in a page of the documentation."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in RETIRED_TEXT.finditer(line):
            yield number, found[0]


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler catches everything and raises nothing."""
    catches_all = handler.type is None or ast.unparse(handler.type) in (
        "Exception",
        "BaseException",
    )
    return catches_all and not any(isinstance(inner, ast.Raise) for inner in handler.body)


def attribute_lookups(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield places that look for an ability by its name; Python's own `__names__` are none."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="hasattr")):
                yield node.lineno, "hasattr"
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                if not name.startswith("__"):
                    yield node.lineno, f"getattr of {name!r}"
            case ast.Name(id="runtime_checkable") | ast.Attribute(attr="runtime_checkable"):
                yield node.lineno, "a protocol checked at run time"


def relative_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield relative imports: their target cannot be read without its folder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "relative import"


def forbidden_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield calls that would run text as code, and imports that could unpickle."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in EVALUATORS:
                yield node.lineno, f"calls {name}"
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.partition(".")[0] in UNPICKLERS:
                        yield node.lineno, f"imports {alias.name}"
            case ast.ImportFrom(module=str(base)) if base.partition(".")[0] in UNPICKLERS:
                yield node.lineno, f"imports {base}"


def transports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield imports of libraries that reach the network or other processes."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = {alias.name.partition(".")[0] for alias in names} & TRANSPORTS
            case ast.ImportFrom(module=str(base)):
                found = {base.partition(".")[0]} & TRANSPORTS
            case _:
                continue
        for name in sorted(found):
            yield node.lineno, f"a grader imports {name}"


def paths_outside(path: Path) -> Iterator[tuple[int, str]]:
    """Yield where a file reaches for data outside the repository, which a plain clone lacks."""
    depth = len(path.relative_to(ROOT).parts) - 1
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "../" + "shared" in line:
            yield number, "reads a folder beside the repository"
        for above in re.findall(r"\bPath\(__file__\)\S*?\.parents\[(\d+)\]", line):
            if int(above) > depth:
                yield number, "a path above the repository"


def retired_test_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield names of tests that hold a word which the field does not use."""
    found = re.finditer(r"^ *(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    for match in found:
        if RETIRED_WORDS & {*match[1].split("_")} and match[1] not in DRAWN_TESTS:
            yield path.read_text().count("\n", 0, match.start()) + 1, f"retired word: {match[1]}"


def check_all_files() -> list[str]:
    """Return one line for each rule that a file of any folder breaks."""
    lines: list[str] = []
    for folder in ("src", "tests", "benchmarks", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = [*paths_outside(path)]
            found += retired_test_names(path) if folder == "tests" else ()
            lines += [f"{path.relative_to(ROOT)}:{n}: {what}" for n, what in found]
    for path in documentation():
        found = retired_docs(path)
        lines += [f"{path.relative_to(ROOT)}:{n}: retired word: {word}" for n, word in found]
    return lines


def documentation() -> list[Path]:
    """Return the pages and messages that people read: Markdown, templates, tables of texts."""
    sources = [p for s in ("*.toml", "*.j2", "*.js") for p in SOURCE.rglob(s)]
    texts = [
        p
        for p in sources
        if room_of(module_name(p)) in ("cli", "core", "reports", "runs", "studio")
    ]
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *texts)
    return sorted(page for page in pages if "_build" not in page.parts)


def check_house() -> tuple[list[str], dict[str, int]]:
    """Return one line for each broken rule, and the counts."""
    paths = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
    texts = {module: path.read_text() for module, path in paths.items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    imports = [edge for m, tree in trees.items() for edge in find_imports(m, tree, paths)]
    lines: list[str] = []
    counts: dict[str, int] = {}

    def place(module: str, line: int) -> str:
        return f"{paths[module].relative_to(ROOT)}:{line}"

    upward, across = list(upward_imports(imports)), list(suite_imports(imports))
    for name, edges in (("upward imports", upward), ("suite-to-suite imports", across)):
        lines += [f"{place(e.source, e.line)}: {name[:-1]}: {e.target}" for e in edges]
        counts[name] = len({(edge.source, edge.target) for edge in edges})
    groups = circles(edge for edge in imports if edge.target in trees)
    lines += [f"circle: {', '.join(group)}" for group in groups]
    counts["circles"] = len(groups)

    bare, n_functions, n_retired, broad, looking, other = [], 0, 0, set(), set(), set()
    for module, tree in trees.items():
        for function in module_functions(tree):
            n_functions += 1
            if function.name.strip("_") in BARE_VERBS:
                bare.append(f"{place(module, function.lineno)}: bare verb: {function.name}")
        for line, name in retired_names(tree):
            lines.append(f"{place(module, line)}: retired word: {name}")
            n_retired += 1
        words = list(retired_texts(tree))
        if words:
            other.add(module)
        if module not in OTHER_TEXTS:
            lines += [f"{place(module, line)}: retired word: {word}" for line, word in words]
            n_retired += len(words)
        lines += [f"{place(module, line)}: {what}" for line, what in relative_imports(tree)]
        lines += [f"{place(module, line)}: {what}" for line, what in forbidden_calls(tree)]
        if lookups := list(attribute_lookups(tree)):
            looking.add(module)
        if module not in ATTRIBUTE_LOOKUPS:
            lines += [f"{place(module, line)}: attribute lookup: {what}" for line, what in lookups]
        if room_of(module) in GRADERS:
            lines += [f"{place(module, line)}: {what}" for line, what in transports(tree)]
        if any(isinstance(n, ast.ExceptHandler) and is_broad(n) for n in ast.walk(tree)):
            broad.add(module)
        # Python 3.11.2, the one of Debian 12, does not restore what a failed repeat consumed
        if re.search(r"\)(?:[*+?]|\{+\d*,?\d*\}+)\+", texts[module]):
            lines.append(f"{place(module, 1)}: a group is repeated possessively")
    if len(bare) > MOST_BARE_VERBS * n_functions:
        lines += bare
    lines += [f"{place(m, 1)}: catches everything" for m in sorted(broad - BROAD_CATCHES)]
    lines += [f"catches not everything any more, take it off the list: {m}"
              for m in sorted((BROAD_CATCHES & {*trees}) - broad)]  # fmt: skip
    lines += [f"looks up no attribute any more, take it off the list: {m}"
              for m in sorted((ATTRIBUTE_LOOKUPS.keys() & trees.keys()) - looking)]  # fmt: skip
    lines += [f"has no retired word any more, take it off the list: {m}"
              for m in sorted((OTHER_TEXTS.keys() & trees.keys()) - other)]  # fmt: skip
    lines += check_all_files()
    counts |= {"functions": n_functions, "bare verbs": len(bare), "retired names": n_retired}
    return lines, counts


def main() -> int:
    """Print what is broken and the counts; return the exit code."""
    lines, counts = check_house()
    for line in lines:
        print(line)
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
