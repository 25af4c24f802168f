"""Where a folder has its robot data, and the names of the numbers of their actions."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet.loaded_rows import is_valid_name
from toolmark.suites.multinet.openx import dataset_description, parquet_episodes, rlds
from toolmark.suites.multinet.openx.morphologies import (
    MAX_DIMENSIONS,
    MORPHOLOGIES,
    OWN_MORPHOLOGY,
    Morphology,
    name_dimensions,
)
from toolmark.suites.multinet.openx.robot_episodes import RobotData
from toolmark.suites.multinet.published_layout import missing_data_error, require_inside
from toolmark.suites.multinet.step_parquet import SUFFIX

_SNAPSHOT_PATTERN = "translated_shard_*"


def find_data_folder(folder: Path, name: str) -> Path:
    """Return the folder with data below a folder: the one for this morphology, or the only version.

    Raises UsageError and DataError if there is none, if there are several, or if a link leads out
    of it.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    robot = MORPHOLOGIES.get(name)
    folder_names = (robot.folder, robot.published, name) if robot else (name,)
    inner_folders = [folder / each for each in folder_names]
    candidates = [folder, *(home for home in inner_folders if home.is_dir())]
    subfolders = [
        sorted(path for path in home.iterdir() if path.is_dir()) for home in candidates[::-1]
    ]
    for level in ([candidates[0]], candidates[1:], *subfolders):
        data_folders = [home for home in level if _holds_data(home)]
        if len(data_folders) > 1:
            names = ", ".join(home.name for home in data_folders[:10])
            raise UsageError(f"{folder}: holds several data sets: name one of {names}")
        if data_folders:
            return require_inside(folder, data_folders[0])
    if next(folder.rglob(_SNAPSHOT_PATTERN), None):
        raise DataError(
            f"{folder}: holds TensorFlow snapshots; where TensorFlow is, run "
            f"python -m toolmark.suites.multinet.openx.snapshot_export {folder} test{SUFFIX}, and "
            "name the folder of what it writes"
        )
    raise missing_data_error(folder, "openx")


def _holds_data(folder: Path) -> bool:
    return (folder / rlds.INFO_FILE).is_file() or parquet_episodes.holds_parquet(folder)


def open_data(folder: Path, name: str, root: Path) -> tuple[RobotData, Morphology]:
    """Return the data of a folder and the shape of their actions. Nothing outside `root` is read.

    Raises DataError for actions of an unexpected length, with what to do.
    """
    robot = MORPHOLOGIES.get(name)
    description = dataset_description.read_description(folder, root)
    width = len(robot.names) if robot else len(description.names)
    rlds_here = (folder / rlds.INFO_FILE).is_file()
    data = (
        rlds.open_rlds(folder, root)
        if rlds_here
        else parquet_episodes.open_parquet(folder, width, root)
    )
    if description.path:
        described = (*data.about.description_files, description.path)
        data = replace(data, about=replace(data.about, description_files=described))
    n = data.about.width or width
    if width and n != width:
        raise DataError(
            f"{folder}: its actions have {n} numbers; {width} "
            f"{_expected_width_text(name, description)}"
        )
    if not 1 <= n <= MAX_DIMENSIONS:
        raise DataError(f"{folder}: its actions have {n} numbers; 1 to {MAX_DIMENSIONS} are read")
    if description.names and len(description.names) != n:
        raise DataError(
            f"{description.path}: {len(description.names)} names for actions of {n} numbers"
        )
    described_robot = name_dimensions(
        robot, data.about.members, n, robot is not None and _is_published_set(folder, data, robot)
    )
    if bad_names := [each for each in described_robot.names if not is_valid_name(each)]:
        raise DataError(
            f"{folder}: a name of a dimension that cannot be one: {bad_names[0][:80]!r}"
        )
    if len(described_robot.names) != len({*described_robot.names}):
        raise DataError(
            f"{folder}: two dimensions of the same name; {dataset_description.DESCRIPTION_FILE} "
            "can say others"
        )
    if description.names and described_robot.names != description.names:
        described_robot = replace(
            described_robot, published="", environment="", slices={}, names=description.names
        )
    return data, replace(
        described_robot, environment=description.environment or described_robot.environment
    )


def _expected_width_text(name: str, description: dataset_description.DatasetDescription) -> str:
    """Return a text about the expected length of an action, and what to do."""
    if name == OWN_MORPHOLOGY:
        return f"are due by {description.path}"
    others = ", ".join(f"{each} {len(shape.names)}" for each, shape in MORPHOLOGIES.items())
    return (
        f"are due of {name}; next: -T morphology={OWN_MORPHOLOGY} for a robot of any shape "
        f"({others})"
    )


def _is_published_set(folder: Path, data: RobotData, robot: Morphology) -> bool:
    """Return whether the data are the published set, judged by names."""
    resolved = folder.resolve()
    names = {data.about.name, resolved.name, resolved.parent.name}
    return bool(names & {robot.published, robot.folder})


def naming_notes(robot: Morphology, name: str) -> tuple[str, ...]:
    """Return notes for the user about the names of the action's numbers."""
    advice = (
        f"{dataset_description.DESCRIPTION_FILE} next to the data can say names and environment"
    )
    if robot.published:
        statement = f"the action's numbers are called as in {robot.published}"
        return (f"{statement}; if these are other data, {advice}",)
    if name == OWN_MORPHOLOGY and not robot.environment:
        return (f"the prompt does not say where the robot is; {advice}",)
    if name != OWN_MORPHOLOGY:
        first_names = ", ".join(robot.names[:3]) + (", ..." if len(robot.names) > 3 else "")
        return (
            f"not the published data set of {name}: its numbers are called {first_names}; {advice}",
        )
    return ()
