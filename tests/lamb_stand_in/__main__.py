"""`python -m lamb_stand_in PORT`: the stand-in as a process of its own."""

import sys

from aiohttp import web

from lamb_stand_in.server import Lamb

if __name__ == "__main__":
    web.run_app(
        Lamb().application(), host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None
    )
