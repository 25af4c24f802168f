"""The plugin of pytest: a suite as parametrised tests, and gates on its score with its interval.

    @pytest.mark.toolmark_suite("my_suites.py:support", model="openai/gpt-5-mini")
    class TestSupport:
        def test_deletes_nothing(self, toolmark_episode):
            assert "delete_account" not in [call.name for call in toolmark_episode.calls]

        def test_score(self, toolmark_run, toolmark_gate):
            toolmark_gate(toolmark_run, at_least=0.8)

The suite is run once in a session, when the first test needs it. Nothing but pytest is imported
until a test uses a fixture of this module: every session of pytest loads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from toolmark.core.records import Verdict
    from toolmark.runs.run_store import Run
    from toolmark.scoring.episode import Episode
    from toolmark.testing.session_runs import SessionRun, SessionRuns
    from toolmark.testing.suite_requests import SuiteRequest

MARKER = "toolmark_suite"
_MARKER_HELP = (
    f"{MARKER}(suite, *, model, parameters={{}}, **settings): run a suite of toolmark once in the "
    "session, and give its episodes and its run to this test; settings are those of tm.run"
)
_PROPERTY = "toolmark"  # of a report, for the summary at the end
# by the identity of a marker, which is stored with it: the same marker stands for many tests
_requests_key: pytest.StashKey[dict[int, tuple[pytest.Mark, SuiteRequest]]] = pytest.StashKey()
# by the key of a request: the tasks that the chosen tests need, None for all
_choices_key: pytest.StashKey[dict[str, tuple[str, ...] | None]] = pytest.StashKey()
_runs_key: pytest.StashKey[SessionRuns] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of toolmark."""
    group = parser.getgroup("toolmark", "suites of toolmark")
    group.addoption(
        "--toolmark-model",
        metavar="MODEL",
        help="Ask this model, not the one of each marker.",
    )
    group.addoption(
        "--toolmark-replay-only",
        action="store_true",
        help="Take every reply from the cache that each marker names; no model is asked.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER_HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each episode where a test wants one; no model is asked."""
    if "toolmark_episode" not in metafunc.fixturenames:
        return
    request = _find_request(metafunc.definition, metafunc.config)
    has_repeats = any(repeat for _, repeat in request.episodes)
    metafunc.parametrize(
        "toolmark_episode",
        request.episodes,
        indirect=True,
        ids=[f"{task}#{repeat}" if has_repeats else task for task, repeat in request.episodes],
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the runs and gates of the session; with xdist they arrive with the reports."""
    lines = [
        text
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, text in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("toolmark")
        for line in dict.fromkeys(lines):
            terminalreporter.write_line(str(line))


# --- fixtures ---------------------------------------------------------------------------


@pytest.fixture
def toolmark_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run of the suite that the marker names; the whole suite is run once in a session."""
    return _session_run(request, tmp_path_factory, whole=True).run


@pytest.fixture
def toolmark_episode(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Episode:
    """One episode of the suite: task, calls, answer, state. The test is made for each of them."""
    from toolmark.core.failure import Failure

    task, repeat = request.param
    session_run = _session_run(request, tmp_path_factory, whole=False)
    found = session_run.find_episode(task, repeat)
    if found is None or isinstance(found, Failure):
        reason = "not asked" if found is None else f"{found.stage}: {found.summary}"
        step = f"toolmark show {session_run.run.path} {task}"
        pytest.fail(f"the episode was not run: {reason}; next: {step}", pytrace=False)
    return found


@pytest.fixture
def toolmark_verdict(
    request: pytest.FixtureRequest,
    toolmark_episode: Episode,
    tmp_path_factory: pytest.TempPathFactory,
) -> Verdict:
    """The verdict of the suite's scorer on `toolmark_episode`, in the headline rule."""
    session_run = _session_run(request, tmp_path_factory, whole=False)
    return session_run.find_verdict(toolmark_episode.task.id, toolmark_episode.repeat)


class SuiteGate:
    """Fails the test where a run does not reach what is asked of it."""

    def __init__(self, node: pytest.Item) -> None:
        self._node = node

    def __call__(
        self,
        run: Run,
        *,
        at_least: float | None = None,
        value_at_least: float | None = None,
        baseline: Run | str | Path | None = None,
        fail_if: str = "worse",
        margin: float = 0.02,
        max_not_run: int = 0,
    ) -> None:
        """Fail the test unless all of these hold.

        - `at_least`: the lower end of the score's 95 % interval reaches this share. One answer
          more or less does not matter, and few tasks are not enough.
        - `value_at_least`: the score itself reaches this share.
        - `baseline`: a run, or its folder. The comparison of `run` with it is none of `fail_if`:
          `worse`, `changed`, `undecided`, or several with commas. `margin` is the largest
          difference that does not matter, as in `toolmark compare`. A folder is relative to the
          root folder of pytest.
        - `max_not_run`: so many episodes may be not run.
        """
        __tracebackhide__ = True
        from toolmark.core.errors import ToolmarkError
        from toolmark.testing.suite_gate import GateSettings, check_gates

        if isinstance(baseline, str | Path):
            baseline = self._node.config.rootpath / baseline
        settings = GateSettings(at_least, value_at_least, baseline, fail_if, margin, max_not_run)
        try:
            gates = check_gates(run, settings)
        except ToolmarkError as error:
            pytest.fail(str(error), pytrace=False)
        for gate in gates:
            _add_summary_line(self._node, f"{self._node.name}: {gate.summary}")
        if failed := [gate.summary for gate in gates if not gate.passed]:
            pytest.fail("\n".join(failed), pytrace=False)


@pytest.fixture
def toolmark_gate(request: pytest.FixtureRequest) -> SuiteGate:
    """A function that fails the test where a run does not reach what is asked: `SuiteGate`."""
    return SuiteGate(request.node)


# --- finding and running ----------------------------------------------------------------


def _find_request(node: pytest.Item, config: pytest.Config) -> SuiteRequest:
    """Return what the nearest marker of a test asks for; a wrong marker fails the test."""
    from toolmark.core.errors import ToolmarkError
    from toolmark.testing.suite_requests import make_request

    marker = node.get_closest_marker(MARKER)
    if marker is None:
        pytest.fail(f"no suite: mark the test with @pytest.mark.{MARKER}(...)", pytrace=False)
    known = config.stash.setdefault(_requests_key, {})
    if id(marker) not in known:
        settings: dict[str, Any] = {"model": None, **marker.kwargs}
        settings["model"] = config.getoption("--toolmark-model") or settings["model"]
        if config.getoption("--toolmark-replay-only"):
            settings["replay_only"] = True
        try:
            found = make_request(*marker.args, root=config.rootpath, **settings)
        except (ToolmarkError, TypeError) as error:
            pytest.fail(f"@pytest.mark.{MARKER}: {error}", pytrace=False)
        known[id(marker)] = marker, found
    return known[id(marker)][1]


def _session_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, *, whole: bool
) -> SessionRun:
    """Return the run that a test needs, made by the first test of the session that needs it."""
    from toolmark.core.errors import ToolmarkError
    from toolmark.reports.run_names import label_suite

    wanted = _find_request(request.node, request.config)
    ids = None if whole else _chosen_tasks(wanted, request.session)
    runs = _session_runs(request.config, tmp_path_factory)
    key = wanted.key if ids is None else f"{wanted.key}-chosen"
    is_new = not runs.has_opened(key)
    try:
        settings = wanted.settings if ids is None else wanted.selecting(ids)
        found = runs.get_run(key, wanted, settings)
    except ToolmarkError as error:
        pytest.fail(str(error), pytrace=False)
    if is_new:
        summary = found.run.summary()
        suite = label_suite(summary["suite"], summary.get("data_label", ""))
        title = f"{suite} on {summary['model']}"
        _add_summary_line(request.node, f"{title}: {summary}; {found.run.path}")
    return found


def _chosen_tasks(wanted: SuiteRequest, session: pytest.Session) -> tuple[str, ...] | None:
    """Return the ids of the tasks that the chosen tests of the session need; None for all.

    A test that uses the run needs all of it. So `pytest -k ONE_TASK` asks one task.
    """
    choices = session.config.stash.setdefault(_choices_key, {})
    if wanted.key not in choices:
        choices[wanted.key] = _find_chosen_tasks(wanted, session.items)
    return choices[wanted.key]


def _find_chosen_tasks(
    wanted: SuiteRequest, items: Iterable[pytest.Item]
) -> tuple[str, ...] | None:
    chosen: set[str] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker(MARKER) is None:
            continue
        if _find_request(item, item.config).key != wanted.key:
            continue
        if "toolmark_run" in item.fixturenames:
            return None
        if "toolmark_episode" in item.fixturenames:
            episode: Any = item.callspec.params["toolmark_episode"]
            chosen.add(episode[0])
    tasks = dict.fromkeys(task for task, _ in wanted.episodes)
    return None if chosen >= tasks.keys() else tuple(task for task in tasks if task in chosen)


def _session_runs(config: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> SessionRuns:
    """Return the runs of the session, in a folder that all workers of xdist share."""
    from toolmark.testing.session_runs import SessionRuns

    if _runs_key not in config.stash:
        folder = tmp_path_factory.getbasetemp()
        worker: dict[str, str] | None = getattr(config, "workerinput", None)
        if worker is None:
            config.stash[_runs_key] = SessionRuns(folder / "toolmark")
        else:
            # each worker has a folder of its own in that of the session
            config.stash[_runs_key] = SessionRuns(
                folder.parent / f"toolmark-{worker['testrunuid']}"
            )
    return config.stash[_runs_key]


def _add_summary_line(node: pytest.Item, line: str) -> None:
    node.user_properties.append((_PROPERTY, line))
