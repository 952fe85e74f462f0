"""The command in a process that can be interrupted, whatever this one was started from."""

import sys

# A shell starts its background jobs with interrupts ignored, and whatever they start inherits it.
_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from heddle_cli.__main__ import main
main()
"""
COMMAND = (sys.executable, "-c", _PROGRAM)
