"""The parts of the documentation that are made from the code when the site is built.

A page names such a part by a line `<!-- generated: NAME -->`, which the build replaces.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import typer

import toolmark
from toolmark.cli.app import app as command_line
from toolmark.core.user_modules import import_attribute
from toolmark.formats.call_syntaxes import call_syntaxes
from toolmark.suites import suite_registry

MARK = re.compile(r"^<!-- generated: ([a-z ]+) -->$", re.MULTILINE)

RECORDS = (
    "Task", "Turn", "Message", "Text", "Image", "Audio", "Tool", "Call", "Request", "Reply",
    "Usage", "Result", "Step", "Trajectory", "Attempt", "Verdict", "Label", "Score", "Estimate",
    "Table", "Chart", "Check",
)  # fmt: skip
EXTENSION_POINTS = (
    "toolmark.scoring.episode:Episode",
    "toolmark.scoring.episode:EpisodeCall",
    "toolmark.scoring.score_rows:Row",
    "toolmark.core.environment:Environment",
    "toolmark.core.environment:EnvironmentFactory",
    "toolmark.core.model:Model",
    "toolmark.core.model:Control",
    "toolmark.agents.agent_session:AgentSession",
    "toolmark.judging.scripted_judge:ScriptedJudge",
    "toolmark.core.records:ToolFormat",
    "toolmark.models.installed_wires:WireSettings",
    "toolmark.agents.agent:Agent",
    "toolmark.perturb.text.text_perturbations:TextPerturbation",
    "toolmark.runs.suite_parameters:SuiteParameters",
    "toolmark.statistics.metric_formulas:Metric",
)


def insert_generated_parts(_app: object, _page: str, source: list[str]) -> None:
    """Replace the marks in the text of a page. Raises KeyError for a part that does not exist."""
    source[0] = MARK.sub(lambda mark: GENERATORS[mark[1]](), source[0])


# --- the command line -------------------------------------------------------------------


def command_reference() -> str:
    """Return a section for each command: usage, help, arguments, options and examples."""
    group: Any = typer.main.get_command(command_line)
    return "\n".join(_command_lines(group, "toolmark", level=2))


def _command_lines(group: Any, path: str, *, level: int) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        full_name = f"{path} {name}"
        yield f"{'#' * level} {full_name}\n"
        if hasattr(command, "commands"):
            yield f"{_sentence_lines(command.help)}\n"
            yield from _command_lines(command, full_name, level=level + 1)
            continue
        context = typer.Context(command, info_name=full_name)
        yield f"```sh\n{full_name} {' '.join(command.collect_usage_pieces(context))}\n```\n"
        yield f"{_sentence_lines(command.help)}\n"
        yield from _parameter_table(command.params, context)
        if command.epilog:
            yield f"{_without_environment_help(command.epilog)}\n"


def _sentence_lines(text: str | None) -> str:
    return inspect.cleandoc(text or "")


def _without_environment_help(epilog: str) -> str:
    """Return the examples: what holds for all flags stands once, at the top of the page."""
    examples = [part for part in epilog.split("\n\n") if "environment variable: " not in part]
    return "\n\n".join(part.strip() for part in examples)


def _parameter_table(params: Sequence[Any], context: Any) -> Iterator[str]:
    """Yield a table of arguments and flags, each named as `--help` names it."""
    if not params:
        return
    yield "| argument or flag | default | meaning |"
    yield "|---|---|---|"
    for param in params:
        record = param.get_help_record(context)
        if record is None:  # a hidden one
            continue
        name = param.metavar or param.name.upper()
        words = name if param.param_type_name == "argument" else record[0]
        yield f"| {_code(words)} | {_default_words(param)} | {_cell(param.help or '')} |"
    yield ""


def _default_words(param: Any) -> str:
    if param.required:
        return "required"
    default = getattr(param.default, "value", param.default)
    if default in (None, False, "", ()) or callable(default):
        return ""
    return _code(str(default))


# --- suites -----------------------------------------------------------------------------


def suite_reference() -> str:
    """Return a section for each suite: its summary, its parameters, tool formats, baselines."""
    return "\n".join(line for name in suite_registry.SUITES for line in _suite_lines(name))


def _suite_lines(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{suite_registry.suite_summary(name)}\n"
    yield "| parameter | value | default | meaning |"
    yield "|---|---|---|---|"
    for each in suite_registry.list_parameters(name):
        kind = _cell(each.kind)
        default = _parameter_default(each.default)
        yield f"| {_code(each.name)} | {kind} | {default} | {_cell(each.description)} |"
    yield ""
    if note := suite_registry.tool_format_note(name):
        yield f"Tool formats: {note}\n"
    if baselines := suite_registry.baseline_names(name):
        yield f"Baselines: {', '.join(_code(f'baseline/{each}') for each in baselines)}\n"


def call_syntax_table() -> str:
    """Return a table of the call syntaxes: name, models, example, the server's flag, if asked."""
    rows = ["| name | models | a call of `f` with `a` = 1 | flag of vLLM | `--tool-format` |"]
    rows.append("|---|---|---|---|---|")
    for each in call_syntaxes().syntaxes:
        example = each.example.replace("\n", "⏎").replace("```", "~~~")
        asked = "yes" if each.render is not None else ""
        rows.append(
            f"| {_code(each.name)} | {each.models} | {_cell(_code(example))} "
            f"| {_code(each.server_flag)} | {asked} |"
        )
    return "\n".join(rows)


def _parameter_default(value: Any) -> str:
    """Return a default as `-T` takes it; "" where there is none."""
    match value:
        case None | "" | () | inspect.Parameter.empty:
            return ""
        case bool():
            return _code("yes" if value else "no")
        case tuple() | list():
            return _code(",".join(map(str, value)))
        case _:
            return _code(str(value))


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    """Return a text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", r"\|")


# --- Python -----------------------------------------------------------------------------


def public_names() -> str:
    """Return the directives for the functions and classes of `toolmark`."""
    functions = [name for name in toolmark.__all__ if inspect.isfunction(getattr(toolmark, name))]
    return _directives(f"toolmark.{name}" for name in functions)


def run_folder() -> str:
    """Return the directive for an opened run."""
    return _directives(["toolmark.runs.run_store.Run"])


def settings() -> str:
    """Return the directives for the groups of settings of `toolmark.run`."""
    groups = _public_classes("toolmark.runs.run_settings")
    return _directives(["toolmark.core.records.Sampling", *groups])


def suite_parts() -> str:
    """Return the directives for a suite and the parts of which it consists."""
    return _directives(_public_classes("toolmark.runs.suite"))


def extension_points() -> str:
    """Return the directives for what a user's own code implements or fills."""
    return _directives(spec.replace(":", ".") for spec in EXTENSION_POINTS)


def record_types() -> str:
    """Return the directives for the records that pass between the parts."""
    return _directives(f"toolmark.core.records.{name}" for name in RECORDS)


def metric_formulas() -> str:
    """Return the directives for the formulas of which a metric is made."""
    modules = ("metric_formulas", "level_formulas", "class_formulas", "label_formulas")
    names = [name for each in modules for name in _public_classes(f"toolmark.statistics.{each}")]
    return _directives(name for name in names if not name.endswith(".Metric"))


def error_types() -> str:
    """Return the directives for the errors that a caller can catch."""
    base = import_attribute("toolmark.core.errors:ToolmarkError")
    names = _public_classes("toolmark.core.errors")
    return _directives(name for name in names if issubclass(_imported(name), base))


def _public_classes(module: str) -> list[str]:
    """Return the names of the classes that a module defines, in its order."""
    return [
        f"{module}.{name}"
        for name, value in vars(import_module(module)).items()
        if inspect.isclass(value) and value.__module__ == module and not name.startswith("_")
    ]


def _imported(name: str) -> Any:
    return import_attribute(":".join(name.rpartition(".")[::2]))


def _directives(names: Iterable[str]) -> str:
    blocks = []
    for name in names:
        kind = "autoclass" if inspect.isclass(_imported(name)) else "autofunction"
        options = "\n   :members:" if kind == "autoclass" else ""
        blocks.append(f"```{{eval-rst}}\n.. {kind}:: {name}{options}\n```\n")
    return "\n".join(blocks)


GENERATORS: dict[str, Callable[[], str]] = {
    "command line": command_reference,
    "suites": suite_reference,
    "call syntaxes": call_syntax_table,
    "public names": public_names,
    "run folder": run_folder,
    "settings": settings,
    "suite parts": suite_parts,
    "extension points": extension_points,
    "records": record_types,
    "metric formulas": metric_formulas,
    "errors": error_types,
}
