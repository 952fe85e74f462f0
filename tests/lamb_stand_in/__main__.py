"""`python -m lamb_stand_in PORT [DATABASE]`: the stand-in as a process of its own."""

import sys
from pathlib import Path

from aiohttp import web

from lamb_stand_in.server import Lamb

if __name__ == "__main__":
    port, *database = sys.argv[1:]
    served = Lamb(database=Path(database[0]) if database else None)
    web.run_app(served.application(), host="127.0.0.1", port=int(port), access_log=None, print=None)
