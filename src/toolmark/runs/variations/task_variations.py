"""The variations of the chosen tasks: what is asked next to each, and where a kind cannot apply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property, partial

from msgspec.structs import replace

from toolmark.core.environment import Environment, method_tools
from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_count, pluralize
from toolmark.core.records import VARIATION_AXIS, Task, Tool, Variation
from toolmark.environments.class_environments import ClassEnvironmentOpener
from toolmark.perturb.text.text_perturbations import FRAME, load_perturbation
from toolmark.runs.suite import Suite
from toolmark.runs.variations import tool_variations
from toolmark.runs.variations.variation_kinds import VariationKind, parse_kinds

NO_TOOLS = "its tools, if any, are known only while an episode runs"
TOOLS_OF_TURNS = "tools come with its turns"
NO_ENGLISH_TEXT = "no user's text in English"
NO_VALUES = "suite {} makes no twins"
NOT_MADE = "it could not be made"
LISTED_KINDS = ("tool_order", "descriptions")
"""The kinds that also apply to tools which a server lists."""
TOOL_KINDS = ("tool_order", "names", "descriptions", "distractors", "strict")


def vary_suite(suite: Suite, words: Sequence[str]) -> Suite:
    """Return the suite asking variations of these kinds next to each chosen task.

    Raises UsageError for an unknown kind.
    """
    kinds = parse_kinds(words)
    if not kinds:
        return suite
    return replace_fields(
        suite, maker=replace_fields(suite.maker, vary=TaskVariations(suite, kinds))
    )


class TaskVariations:
    """Yields each task followed by its variations, and counts where a kind does not apply."""

    def __init__(self, suite: Suite, kinds: Sequence[VariationKind]) -> None:
        self._suite = suite
        self._kinds = kinds
        self._seed = suite.provenance.seed
        self._counts: Counter[str] = Counter()
        self._reasons: dict[str, Counter[str]] = {}

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield the tasks with their variations."""
        self._counts.clear()
        self._reasons.clear()
        for task in tasks:
            yield task
            if task.kind != "scored":
                continue
            for kind in self._kinds:
                varied = self.vary_task(task, kind)
                if isinstance(varied, str):
                    self._reasons.setdefault(kind.name, Counter())[varied] += 1
                else:
                    self._counts[kind.name] += 1
                    yield varied

    def check_applicable(self, tasks: Iterable[Task]) -> None:
        """Raise UsageError for a kind that applies to none of the tasks."""
        missing = {kind.name for kind in self._kinds}
        for _ in self(tasks):
            missing -= self._counts.keys()
            if not missing:
                return
        for kind in self._kinds:
            if kind.name in missing:
                reasons = self._reasons.get(kind.name, Counter({"no task is scored": 0}))
                reason = reasons.most_common(1)[0][0]
                raise UsageError(f"--vary {kind.name} applies to no task of this run: {reason}")

    def describe_counts(self) -> tuple[str, ...]:
        """Return how many tasks have a variation of each kind, and why others have none."""
        lines = []
        for kind in self._kinds:
            n, reasons = self._counts[kind.name], self._reasons.get(kind.name, Counter())
            line = f"varied by {kind.name}: {pluralize(n, 'task')}"
            without = [f"{format_count(k)} ({why})" for why, k in reasons.most_common()]
            lines.append(line + (f"; not {', '.join(without)}" if without else ""))
        return tuple(lines)

    def vary_task(self, task: Task, kind: VariationKind) -> Task | str:
        """Return a variation of the task, or why there is none."""
        reason = self._suite.maker.unvaried.get(kind.name)
        if reason:
            return reason
        if self._suite.maker.failure is not None and self._suite.maker.failure(task):
            return NOT_MADE
        if kind.name in TOOL_KINDS:
            if any(turn.tools for turn in task.turns):
                return TOOLS_OF_TURNS
            task = task if task.tools else replace(task, tools=self._class_tools)
            is_listed = not task.tools and self._suite.environment.starts_processes
            if is_listed and kind.name in LISTED_KINDS:
                return self._name_variation(task, task, kind)
            if not task.tools:
                return NO_TOOLS
        varied = self._variation_maker(kind)(task, self._seed)
        return varied if isinstance(varied, str) else self._name_variation(task, varied, kind)

    def _name_variation(self, task: Task, varied: Task, kind: VariationKind) -> Task:
        return replace(
            varied,
            id=f"{task.id}@{kind.name}",
            item=task.item or task.id,
            axes={**task.axes, VARIATION_AXIS: kind.name},
            variation=varied.variation or Variation(kind=kind.name, seed=self._seed),
        )

    def _variation_maker(self, kind: VariationKind) -> Callable[[Task, int], Task | str]:
        match kind.name:
            case "tool_order":
                return tool_variations.vary_order
            case "names":
                return tool_variations.vary_names
            case "descriptions":
                return tool_variations.vary_descriptions
            case "strict":
                return tool_variations.vary_strictness
            case "distractors":
                return partial(self._pool.add_distractors, n=kind.n_distractors)
            case "wording":
                return vary_wording
            case _:
                return self._vary_values

    def _vary_values(self, task: Task, seed: int) -> Task | str:
        make_twin = self._suite.maker.make_twin
        if make_twin is None:
            return NO_VALUES.format(self._suite.name)
        return make_twin(task, seed)

    @cached_property
    def _pool(self) -> tool_variations.DistractorPool:
        return tool_variations.DistractorPool.of_tasks(self._suite.tasks)

    @cached_property
    def _class_tools(self) -> tuple[Tool, ...]:
        """The tools of a user's class of environments, which all of its tasks offer."""
        opener = self._suite.environment.open
        kind = opener.make if isinstance(opener, ClassEnvironmentOpener) else None
        if not isinstance(kind, type) or not issubclass(kind, Environment):
            return ()
        if kind.tools is not Environment.tools:
            return ()
        return tuple(each.tool for each in method_tools(kind).values())


def vary_wording(task: Task, seed: int) -> Task | str:
    """Return the task with other words around each user's request."""
    framing = load_perturbation(FRAME)
    varied = tool_variations.replace_texts(
        task, lambda text: framing.apply(text, seed), only_user=True
    )
    return NO_ENGLISH_TEXT if varied == task else varied
