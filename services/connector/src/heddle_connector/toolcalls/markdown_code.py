"""Code in a message: fences and inline code, where nothing is a call."""

import re
from functools import lru_cache

from heddle_connector.toolcalls.emitter import Voice
from heddle_connector.toolcalls.scanners import Scan, through, within
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import Stops

_TICKS = re.compile("`*+")
_INLINE = Stops(("`", "\n"))
_FENCE = 3
_LONGEST_RUN = 256
_SPAN = re.compile(r"`(?!`)[^`\n]*+(?:`(?!`)|\n)(?!\Z)")
_BLOCK_END = re.compile(r"\n {0,3}`{3,259}+(?!\Z)")  # _FENCE, and _LONGEST_RUN more


def code_end(text: str, at: int) -> int:
    """Return where code ends that begins at the index `at`, if that is easily seen, else 0.

    The same as what `pass_code` finds, for the usual kinds of code that have ended.
    """
    if span := _SPAN.match(text, at):
        return span.end()
    if at and text[at - 1] == "\n" and text.startswith("```", at) and text[at + 3 : at + 4] != "`":
        block = _BLOCK_END.search(text, at + _FENCE)
        return block.end() if block else 0
    return 0


def pass_code(source: Source, voice: Voice) -> Scan[None]:
    """Pass code on as it is: a fence to its end, inline code at most to the end of the line."""
    at_line = voice.blank
    run = yield from within(source, _TICKS, _LONGEST_RUN)
    voice.say(run)
    fenced = at_line and len(run) >= _FENCE
    stops = _fence_ends(run) if fenced else _INLINE
    while end := (yield from through(source, stops, voice.say)):
        ticks = "" if end == "\n" else (yield from within(source, _TICKS, _LONGEST_RUN))
        voice.say(end + ticks)
        if fenced or end == "\n" or len(ticks) + 1 == len(run):
            return


@lru_cache(maxsize=_LONGEST_RUN)
def _fence_ends(run: str) -> Stops:
    return Stops(f"\n{' ' * indent}{run}" for indent in range(4))
