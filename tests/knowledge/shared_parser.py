"""One reader of documents for all stores of a process, each of which would start its own."""

from functools import cache

from heddle_knowledge.reading.parsing import Parser


@cache
def shared_parser() -> Parser:
    """Return what reads documents. It ends with the process."""
    return Parser()
