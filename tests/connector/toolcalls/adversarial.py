"""Texts that are meant to be slow to read.

`PYTHONPATH=tests python -m connector.toolcalls.adversarial` prints what they cost.
"""

import sys
import time
from collections.abc import Callable, Iterable

from heddle_connector.toolcalls import ToolCallReader

from connector.toolcalls.formats import FUNCTIONS

SIZE = 100_000
_CALL = '{"name": "note.add", "arguments": {"text": "'


def repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + unit * (size // len(unit)) + after


TEXTS: dict[str, Callable[[int], str]] = {
    "deep objects": repeated('{"a":', '<tool_call>{"name":"f","arguments":'),
    "deep arrays": repeated("[", "<tool_call>"),
    "deep arrays, bare": repeated("[", '{"name":"note.add","arguments":'),
    "deep arrays in Python": repeated("[", "[note.add(text="),
    "deep elements": repeated("]<]minimax[>[<a>", ']<]minimax[>[<invoke name="f">'),
    "deep fields": repeated("{a:", "<|tool_call>call:f"),
    "many opened objects": repeated('{"name": '),
    "many opened lists": repeated("[ "),
    "many opened lists in Python": repeated("\n[note.add(text="),
    "unclosed <tool_call>": repeated("<tool_call>"),
    "unclosed <tool_call>{": repeated('<tool_call>\n{"name": "f", "arguments": {\n'),
    "unclosed <function=>": repeated("<function=x>"),
    "unclosed <parameter=>": repeated("<parameter=a>", "<function=f>"),
    "unclosed functions and parameters": repeated("<function=f><parameter=a>"),
    "unclosed <invoke>": repeated('<invoke name="f">'),
    "unclosed [TOOL_CALLS]": repeated("[TOOL_CALLS]f[ARGS]{"),
    "unclosed headers": repeated("<|start|>assistant"),
    "unclosed reasoning": repeated("<think>\n"),
    "reasoning, again and again": repeated("<think></think>"),
    "drafts": repeated(f'<tool_call>{_CALL}"}}}}</tool_call>', "<think>"),
    "ends of parameters": repeated("</parameter>", "<function=f><parameter=a>"),
    "ends of parameters with space": repeated("</parameter> \n", "<function=f><parameter=a>"),
    "ends of functions": repeated("x</function>", "<function=f><parameter=a>"),
    "ends of calls": repeated("</tool_call>"),
    "space": repeated(" "),
    "space in a call": repeated(" ", "<tool_call>"),
    "space in a value": repeated(" ", "<function=f><parameter=a>", "</parameter></function>"),
    "space in JSON": repeated(" ", '<tool_call>{"name":'),
    "line ends": repeated("\n"),
    "fences": repeated("```\n"),
    "fences with code": repeated('```json\n{"a": 1}\n```\n'),
    "backquotes": repeated("`"),
    "backquotes and spaces": repeated("` "),
    "quotes": repeated('"', f"<tool_call>{_CALL}"),
    "escaped quotes": repeated('\\"', f"<tool_call>{_CALL}", '"}}</tool_call>'),
    "backslashes": repeated("\\\\", f"<tool_call>{_CALL}", '"}}</tool_call>'),
    "backslashes in Python": repeated("\\\\", "[note.add(text='", "')]"),
    "strings": repeated('"",', '<tool_call>{"name":"f","arguments":{"a":[', '""]}}</tool_call>'),
    "near marks": repeated("<tool_cal"),
    "near marks of DeepSeek": repeated("<｜tool▁call"),
    "near marks of Harmony": repeated(" to="),
    "angle brackets": repeated("<"),
    "prose": repeated("The quick brown fox jumps over the lazy dog. "),
}


def seconds(pieces: Iterable[str]) -> float:
    """Return the processor time that reading takes, the best of three."""
    pieces = list(pieces)
    best = float("inf")
    for _ in range(3):
        begin = time.thread_time()
        reader = ToolCallReader(FUNCTIONS)
        for piece in pieces:
            reader.feed(piece)
        reader.finish()
        best = min(best, time.thread_time() - begin)
    return best


def pieces_of(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def report() -> Iterable[str]:
    """Yield a line for each text: milliseconds at once, in pieces of 100, 4 and 1 characters."""
    for name, make in TEXTS.items():
        text = make(SIZE)
        times = (seconds(pieces_of(text, size)) * 1000 for size in (len(text), 100, 4, 1))
        yield f"{name:34}" + "".join(f"{time:9.1f}" for time in times)
    prose = TEXTS["prose"](SIZE)
    once = seconds([prose]) / SIZE * 1e9
    token = seconds(pieces_of(prose, 4)) / (SIZE / 4) * 1e6
    words = [f" {word}" for word in prose.split()]
    word = seconds(words) / len(words) * 1e6
    yield f"prose: {once:.0f} ns a character at once, {token:.2f} us in pieces of four characters,"
    yield f"       {word:.2f} us in words"


if __name__ == "__main__":
    for line in report():
        sys.stdout.write(f"{line}\n")
