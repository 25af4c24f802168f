"""Where a robot's data lie in a folder, and what the numbers of their actions are called."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from toolmark.errors import DataError, UsageError
from toolmark.suites.multinet.held import name as sound
from toolmark.suites.multinet.layout import absent, inside
from toolmark.suites.multinet.openx import own, rlds, snapshots
from toolmark.suites.multinet.openx.episode import Data
from toolmark.suites.multinet.openx.morphology import MORPHOLOGIES, MOST, OWN, Morphology, named
from toolmark.suites.multinet.parquet import SUFFIX

_SNAPSHOT = "translated_shard_*"


def found(folder: Path, name: str) -> Path:
    """Return a folder that holds data, the one for this morphology in it, or the only version.

    Raises UsageError and DataError where there is none, or several, or a link leads out of it.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    shape = MORPHOLOGIES.get(name)
    known = (shape.folder, shape.published, name) if shape else (name,)
    inner = [folder / each for each in known]
    homes = [folder, *(home for home in inner if home.is_dir())]
    below = [sorted(path for path in home.iterdir() if path.is_dir()) for home in homes[::-1]]
    for level in ([homes[0]], homes[1:], *below):
        there = [home for home in level if _holds(home)]
        if len(there) > 1:
            told = ", ".join(home.name for home in there[:10])
            raise UsageError(f"{folder}: holds several data sets: name one of {told}")
        if there:
            return inside(folder, there[0])
    if next(folder.rglob(_SNAPSHOT), None):
        raise DataError(
            f"{folder}: holds TensorFlow snapshots; where TensorFlow is, run "
            f"python -m toolmark.suites.multinet.openx.export {folder} test{SUFFIX}, and name the "
            "folder of what it writes"
        )
    raise absent(folder, "openx")


def _holds(home: Path) -> bool:
    return (home / rlds.INFO).is_file() or snapshots.holds(home)


def opened(home: Path, name: str, root: Path) -> tuple[Data, Morphology]:
    """Return the data of a folder and what their actions are. Nothing is read outside `root`.

    Raises DataError for actions of another length than is due, with what to do.
    """
    shape = MORPHOLOGIES.get(name)
    said = own.read(home, root)
    width = len(shape.names) if shape else len(said.names)
    rlds_here = (home / rlds.INFO).is_file()
    data = rlds.opened(home, root) if rlds_here else snapshots.opened(home, width, root)
    if said.path:
        described = (*data.about.described, said.path)
        data = replace(data, about=replace(data.about, described=described))
    n = data.about.width or width
    if width and n != width:
        raise DataError(f"{home}: its actions have {n} numbers; {width} {_due(name, said)}")
    if not 1 <= n <= MOST:
        raise DataError(f"{home}: its actions have {n} numbers; 1 to {MOST} are read")
    if said.names and len(said.names) != n:
        raise DataError(f"{said.path}: {len(said.names)} names for actions of {n} numbers")
    made = named(shape, data.about.members, n, shape is not None and _known(home, data, shape))
    if odd := [each for each in made.names if not sound(each)]:
        raise DataError(f"{home}: a name of a dimension that cannot be one: {odd[0][:80]!r}")
    if len(made.names) != len({*made.names}):
        raise DataError(f"{home}: two dimensions of the same name; {own.FILE} can say others")
    if said.names and made.names != said.names:
        made = replace(made, published="", environment="", slices={}, names=said.names)
    return data, replace(made, environment=said.environment or made.environment)


def _due(name: str, said: own.Own) -> str:
    """Say what would have been the length of an action, and what to do."""
    if name == OWN:
        return f"are due by {said.path}"
    others = ", ".join(f"{each} {len(shape.names)}" for each, shape in MORPHOLOGIES.items())
    return f"are due of {name}; next: -T morphology={OWN} for a robot of any shape ({others})"


def _known(home: Path, data: Data, shape: Morphology) -> bool:
    """Tell whether data are the published set, as far as names tell."""
    place = home.resolve()
    names = {data.about.name, place.name, place.parent.name}
    return bool(names & {shape.published, shape.folder})


def notes(shape: Morphology, name: str) -> tuple[str, ...]:
    """Return what the user should know of what the numbers are called."""
    told = f"{own.FILE} beside the data can say names and environment"
    if shape.published:
        known = f"the action's numbers are called as in {shape.published}"
        return (f"{known}; if these are other data, {told}",)
    if name == OWN and not shape.environment:
        return (f"not told where the robot is; {told}",)
    if name != OWN:
        shown = ", ".join(shape.names[:3]) + (", ..." if len(shape.names) > 3 else "")
        return (f"not the published data set of {name}: its numbers are called {shown}; {told}",)
    return ()
