"""Skips Markdown code: fences and inline code never contain calls."""

import re
from functools import lru_cache

from heddle_connector.toolcalls.emitter import Emitter
from heddle_connector.toolcalls.scanners import Scan, through, within
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings

_TICKS = re.compile("`*+")
_INLINE = StopStrings(("`", "\n"))
_FENCE = 3
_MAX_RUN_LENGTH = 256
_SPAN = re.compile(r"`(?!`)[^`\n]*+(?:`(?!`)|\n)(?!\Z)")
_BLOCK_END = re.compile(r"\n {0,3}`{3,259}+(?!\Z)")  # _FENCE, and _MAX_RUN_LENGTH more


def code_end(text: str, at: int) -> int:
    """Return the end of the code that begins at the index `at`; 0 if `pass_code` must find it.

    The same as what `pass_code` finds, for the usual kinds of code that have ended.
    """
    if span := _SPAN.match(text, at):
        return span.end()
    if at and text[at - 1] == "\n" and text.startswith("```", at) and text[at + 3 : at + 4] != "`":
        block = _BLOCK_END.search(text, at + _FENCE)
        return block.end() if block else 0
    return 0


def pass_code(source: Source, emitter: Emitter) -> Scan[None]:
    """Pass code on as it is: a fence to its end, inline code at most to the end of the line."""
    at_line = emitter.at_line_start
    run = yield from within(source, _TICKS, _MAX_RUN_LENGTH)
    emitter.emit_content(run)
    fenced = at_line and len(run) >= _FENCE
    stop_strings = _fence_ends(run) if fenced else _INLINE
    while end := (yield from through(source, stop_strings, emitter.emit_content)):
        ticks = "" if end == "\n" else (yield from within(source, _TICKS, _MAX_RUN_LENGTH))
        emitter.emit_content(end + ticks)
        if fenced or end == "\n" or len(ticks) + 1 == len(run):
            return


@lru_cache(maxsize=_MAX_RUN_LENGTH)
def _fence_ends(run: str) -> StopStrings:
    return StopStrings(f"\n{' ' * indent}{run}" for indent in range(4))
