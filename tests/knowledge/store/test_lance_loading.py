"""What LanceDB loads."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys
from heddle_knowledge.engines.address import open_engine

async def main():
    async with open_engine(sys.argv[1], {}) as engine:
        print(await engine.names())
    import lancedb
    print(lancedb.db.ListTablesResponse(tables=["a"]).tables)

asyncio.run(main())
print(sum(name.startswith("lance_namespace_urllib3_client.models.") for name in sys.modules))
"""


def test_messages_of_remote_servers_are_loaded_on_demand(tmp_path: object) -> None:
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, capture_output=True, text=True
    )
    names, answer, count = ran.stdout.splitlines()
    assert (names, answer) == ("[]", "['a']")
    assert 0 < int(count) < 30  # of 160
