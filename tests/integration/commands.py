"""Programs of Heddle that end by themselves, in processes of their own."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import preloaded

_SECONDS = 60


def heddle(
    *arguments: str, environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command of the operator to its end; see `run`."""
    return run("heddle_cli", *arguments, environment=environment, cwd=cwd)


def run(
    module: str, *arguments: str, environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a module to its end.

    Args:
        module: Its name.
        arguments: Its arguments.
        environment: Variables beside those of this process.
        cwd: Its folder, or None for the current one.
    """
    variables = {**os.environ, **environment}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = preloaded.start(
            module,
            variables,
            output.fileno(),
            cwd,
            arguments=arguments,
            errors=errors.fileno(),
        )
        code = process.wait(_SECONDS)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(arguments, code, *texts)
