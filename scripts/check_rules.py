"""The rules of the house, checked in one pass: `python scripts/check_rules.py`.

Prints one line for each place that breaks a rule, then the counts. Exit code 1 where there is any.
`house_imports.py` has the levels of the rooms, `house_names.py` and `house_words.toml` the words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import house_imports
import house_names

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolmark"

GRADERS = frozenset({"scoring", "statistics", "formats"})
TRANSPORTS = frozenset(
    {"pyreqwest", "aiohttp", "httpx", "uvloop", "asyncio", "socket", "subprocess"}
)
EVALUATORS = frozenset({"eval", "exec", "compile", "__import__"})
UNPICKLERS = frozenset({"pickle", "marshal", "shelve", "yaml"})
# faults of other people's code become "not run" here, and nowhere else
BROAD_CATCHES = frozenset(
    {
        "toolmark.core.errors",
        "toolmark.runs.episode_execution",
        "toolmark.runs.judge_panels",
        "toolmark.runs.presentation_writer",
        "toolmark.runs.run_scoring",
    }
)

# Abilities of our own objects have defaults in a base class and are never looked up by name. Where
# objects of other packages, or of users, are told apart by their attributes:
ATTRIBUTE_LOOKUPS = {
    "toolmark.cli.wrong_command_lines": "errors of click differ in what they hold",
    "toolmark.environments.public_web": "errors of pyreqwest may have details",
    "toolmark.formats.installed_formats": "tool formats of other packages",
    "toolmark.models.http_client": "errors of pyreqwest may have details",
    "toolmark.models.user_model": "the name and `close` of a plain object of the user",
    "toolmark.official_bfcl.simulators": "files, folders and modules of the official package",
    "toolmark.official_bfcl.truth_replay": "files and folders of the official package",
    "toolmark.perturb.speech.audio_clip": "errors of libsndfile, which is imported when needed",
    "toolmark.pytest_plugin": "what workers of pytest-xdist are marked by",
    "toolmark.runs.module_sources": "import finders of other packages",
    "toolmark.suites.m3.local.workspace_state.file_readers": "shapes of python-pptx",
    "toolmark.suites.m3.local.workspace_state.read_budget": "flags that some systems lack",
    "toolmark.suites.mfcl_vision.picture_variants": "JPEG segments of some pictures of Pillow",
}


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler catches everything and raises nothing."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    catches_all = any(
        each is None or ast.unparse(each) in ("Exception", "BaseException") for each in caught
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


def module_name(path: Path) -> str:
    """Return the dotted name of a source file, or of a file of data beside it."""
    parts = ["toolmark", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def check_all_files() -> list[str]:
    """Return one line for each rule that a file of any folder breaks."""
    lines: list[str] = []
    for folder in ("src", "tests", "benchmarks", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = [*paths_outside(path)]
            if folder in ("tests", "benchmarks"):
                names = house_names.retired_names(ast.parse(path.read_text()))
                found += [(n, f"retired word: {name}") for n, name in names]
            lines += [f"{path.relative_to(ROOT)}:{n}: {what}" for n, what in found]
    for path in documentation():
        found = house_names.retired_docs(path)
        lines += [f"{path.relative_to(ROOT)}:{n}: retired word: {word}" for n, word in found]
    return lines


def documentation() -> list[Path]:
    """Return the pages and messages that people read: Markdown, templates, tables of texts."""
    sources = [p for suffix in ("*.toml", "*.csv", "*.j2", "*.js") for p in SOURCE.rglob(suffix)]
    texts = [p for p in sources if not is_other_text(p)]
    pages = (*ROOT.glob("*.md"), ROOT / "Makefile", *(ROOT / "docs").rglob("*.md"), *texts)
    return sorted(page for page in pages if "_build" not in page.parts and page.is_file())


def is_other_text(path: Path) -> bool:
    """Tell whether a file of data, or its folder, is listed as the texts of other people."""
    place = path.relative_to(SOURCE)
    return any(str(part) in house_names.OTHER_TEXTS for part in (place, *place.parents))


def check_imports(trees: Mapping[str, ast.Module]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the broken rules of imports by module, "" for those of several; and the counts."""
    lines: dict[str, list[str]] = {"": []}
    imports = [e for m, tree in trees.items() for e in house_imports.find_imports(m, tree, trees)]
    counts = {}
    for name, edges in (
        ("upward imports", list(house_imports.upward_imports(imports))),
        ("suite-to-suite imports", list(house_imports.suite_imports(imports))),
    ):
        for edge in edges:
            lines.setdefault(edge.source, []).append(f"{edge.line}: {name[:-1]}: {edge.target}")
        counts[name] = len({(edge.source, edge.target) for edge in edges})
    groups = house_imports.circles(edge for edge in imports if edge.target != "toolmark")
    lines[""] = [f"circle: {', '.join(group)}" for group in groups]
    return lines, {**counts, "circles": len(groups)}


def check_bare_verbs(trees: Mapping[str, ast.Module]) -> tuple[list[tuple[str, str]], int]:
    """Return the bare verbs by module, with their line, and the number of functions."""
    functions = list(house_names.named_functions(trees))
    bare = [
        (module, f"{node.lineno}: bare verb: {node.name}")
        for module, node in functions
        if house_names.is_bare_verb(node.name)
    ]
    return bare, len(functions)


def check_module(module: str, tree: ast.Module, text: str) -> list[tuple[int, str]]:
    """Return the rules that one module breaks, those of imports and of bare verbs left out."""
    found = [(n, f"retired word: {name}") for n, name in house_names.retired_names(tree)]
    if module not in house_names.OTHER_TEXTS:
        words = (*house_names.retired_texts(tree), *house_names.retired_comments(text))
        found += [(n, f"retired word: {word}") for n, word in words]
    found += [*relative_imports(tree), *forbidden_calls(tree)]
    if module not in ATTRIBUTE_LOOKUPS:
        found += [(n, f"attribute lookup: {what}") for n, what in attribute_lookups(tree)]
    room = house_imports.room_of(module)
    if room in GRADERS:
        found += transports(tree)
    if house_imports.is_below_suites(room) and room not in house_imports.SUITES_NAMED:
        found += [(n, f"names a suite: {what}") for n, what in house_imports.named_suites(tree)]
    if module not in BROAD_CATCHES and catches_broadly(tree):
        found.append((1, "catches everything"))
    # Python 3.11.2, the one of Debian 12, does not restore what a failed repeat consumed
    if re.search(r"\)(?:[*+?]|\{+\d*,?\d*\}+)\+", text):
        found.append((1, "a group is repeated possessively"))
    return found


def catches_broadly(tree: ast.AST) -> bool:
    """Tell whether a module has a handler that catches everything and raises nothing."""
    return any(isinstance(node, ast.ExceptHandler) and is_broad(node) for node in ast.walk(tree))


def check_data_files() -> list[str]:
    """Return where a file of data of a room below the suites names one."""
    lines = []
    for path in sorted(p for s in ("*.toml", "*.csv", "*.json") for p in SOURCE.rglob(s)):
        room, place = house_imports.room_of(module_name(path)), str(path.relative_to(SOURCE))
        names_some = {room, place} & house_imports.SUITES_NAMED.keys()
        if house_imports.is_below_suites(room) and not names_some:
            found = house_imports.named_suites_of_text(path.read_text())
            lines += [f"{path.relative_to(ROOT)}:{n + 1}: names a suite: {w}" for n, w in found]
    return lines


def needless_exceptions(trees: Mapping[str, ast.Module], texts: Mapping[str, str]) -> list[str]:
    """Return the modules that are on a list of exceptions and need none any more."""
    checks = (
        (BROAD_CATCHES, "catches not everything", catches_broadly),
        (ATTRIBUTE_LOOKUPS, "looks up no attribute", lambda t: any(attribute_lookups(t))),
    )
    lines = [
        f"{what} any more, take it off the list: {module}"
        for modules, what, applies in checks
        for module in sorted({*modules} & trees.keys())
        if not applies(trees[module])
    ]
    return lines + [
        f"has no retired word any more, take it off the list: {name}"
        for name in house_names.OTHER_TEXTS
        if not has_retired_word(name, trees, texts)
    ]


def has_retired_word(name: str, trees: Mapping[str, ast.Module], texts: Mapping[str, str]) -> bool:
    """Tell whether a module or a file of data has a retired word; one that is missing counts."""
    if name in trees:
        words = (
            *house_names.retired_texts(trees[name]),
            *house_names.retired_comments(texts[name]),
        )
        return bool(words)
    path = SOURCE / name
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return any(not file.is_file() or any(house_names.retired_docs(file)) for file in files)


def check_house() -> tuple[list[str], dict[str, int]]:
    """Return one line for each broken rule, and the counts."""
    paths = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
    texts = {module: path.read_text() for module, path in paths.items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    by_module, counts = check_imports(trees)
    lines = by_module.pop("")
    bare, n_functions = check_bare_verbs(trees)
    for module, line in bare if len(bare) > house_names.MOST_BARE_VERBS * n_functions else ():
        by_module.setdefault(module, []).append(line)
    for module, tree in trees.items():
        found = check_module(module, tree, texts[module])
        by_module.setdefault(module, []).extend(f"{n}: {what}" for n, what in found)
    lines += [
        f"{paths[module].relative_to(ROOT)}:{line}"
        for module, found in by_module.items()
        for line in found
    ]
    lines += check_data_files() + needless_exceptions(trees, texts) + check_all_files()
    return lines, counts | {"functions": n_functions, "bare verbs": len(bare)}


def main() -> int:
    """Print what is broken and the counts; return the exit code."""
    lines, counts = check_house()
    for line in lines:
        print(line)
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
