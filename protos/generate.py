"""Generate the Python of every contract into `gen/`. Run as `make proto`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).parent
SOURCES = HERE / "heddle"
GENERATED = HERE / "gen"
# Our own interpreter's scripts, so that no activated environment is needed.
SCRIPTS = Path(sys.executable).parent


def main() -> None:
    """Compile with buf, generate with grpcio-tools, add what protoc leaves out."""
    os.environ["PATH"] = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    shutil.rmtree(GENERATED, ignore_errors=True)
    GENERATED.mkdir()
    image = GENERATED / "image.binpb"
    subprocess.run(["buf", "build", "-o", str(image)], cwd=HERE, check=True)
    files = [path.relative_to(HERE).as_posix() for path in sorted(SOURCES.rglob("*.proto"))]
    code = protoc.main(
        [
            "protoc",
            f"--descriptor_set_in={image}",
            f"--python_out={GENERATED}",
            f"--grpc_python_out={GENERATED}",
            f"--mypy_out=quiet:{GENERATED}",
            f"--mypy_grpc_out=quiet:{GENERATED}",
            *files,
        ]
    )
    if code:
        sys.exit(code)
    image.unlink()
    for grpc_module in GENERATED.rglob("*_pb2_grpc.py"):
        if "Stub" not in grpc_module.read_text():  # a contract without a service
            grpc_module.unlink()
            grpc_module.with_suffix(".pyi").unlink()
    for directory in {path.parent for path in GENERATED.rglob("*.py")}:
        for package in (directory, *directory.relative_to(GENERATED).parents):
            (GENERATED / package / "__init__.py").touch()
    (GENERATED / "__init__.py").unlink(missing_ok=True)
    (GENERATED / "heddle" / "py.typed").touch()


if __name__ == "__main__":
    main()
