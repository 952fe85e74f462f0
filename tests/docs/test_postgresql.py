"""The page about moving to PostgreSQL: its commands move an installation, which then works."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from assistants.postgres import postgres
from backup.filled import environment, fill
from docs.blocks import blocks
from integration.browser import browser
from integration.whole import whole

ROOT = Path(__file__).parents[2]
_URL = "postgresql://heddle:PASSWORD@localhost/heddle"
_VARIABLES = (
    "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if 'HEDDLE' in k}))"
)


@pytest.mark.exhaustive
@pytest.mark.timeout(400)  # three commands, each of which loads all services
def test_the_page_moves_an_installation_that_then_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    listed = [block.text for block in blocks(ROOT / "docs/postgresql.md")]
    assert len(listed) == 3
    with postgres(wheel="pgserver") as server, server.database() as url:
        script = "\n".join(["set -eu", *listed, f"{sys.executable} -c {_VARIABLES!r}"])
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        # The former settings, as the operator has them before the page begins.
        former = environment(tmp_path) | {"PATH": path}
        done = subprocess.run(  # noqa: S603 - the commands of our page
            [str(shutil.which("bash")), "-c", script.replace(_URL, f"'{url}'")],
            cwd=tmp_path,
            env=os.environ | former,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for name, value in json.loads(done.stdout.splitlines()[-1]).items():
            monkeypatch.setenv(name, value)
        asyncio.run(_works(tmp_path, url))


async def _works(folder: Path, url: str) -> None:
    new = folder / ".heddle"
    shutil.move(new / "new-knowledge", new / "knowledge")
    async with whole(new, "local", url) as heddle, browser(heddle.url) as client:
        search = await client.post("/v1/vector_stores/looms/search", json={"query": "weft"})
        assert "weft" in search.text
        body = {"model": "weaver-2", "messages": [{"role": "user", "content": "why?"}]}
        answer = await client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
