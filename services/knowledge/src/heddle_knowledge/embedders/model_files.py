"""The files of models in installed packages, compared with the ones that were tested."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from heddle_knowledge.errors import EmbeddingError


def checked(path: Path, sha256: str, package: str) -> bytes:
    """Read a file and refuse any other than the one that was tested.

    Raises:
        EmbeddingError: It is missing or differs; names the package to install.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(f"{path.name!r} is missing. Install {package} again.") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EmbeddingError(f"{path.name!r} is not the file that was tested. Install {package}.")
    return data


def package_folder(module: str, missing: str) -> Path:
    """Find an installed package without importing it, which would load far more.

    Raises:
        EmbeddingError: It is not installed; `missing` says so, and what to install.
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddingError(missing)
    return Path(spec.submodule_search_locations[0])
