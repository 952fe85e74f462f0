"""Loads packages without the optional ones that format text for terminals.

An image has the command `heddle`, and with it the packages that draw its tables. Loggers, HTTP
clients and migrations of databases load them if they are there: 5 to 9 MB in each service.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TERMINAL = ("better_exceptions", "colorama", "rich")
_PARTS = ("httpx._main", "mako.ext.pygmentplugin")
"""Modules that load such packages. Their own packages do without these modules."""


def hide_parts() -> None:
    """Hide the modules of other packages that only terminals need."""
    for name in _PARTS:
        # Python's own mark of a module that cannot be imported.
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # None is that mark


@contextmanager
def hidden_packages() -> Iterator[None]:
    """Hide packages from what is imported in the block, unless they are loaded already."""
    names = [name for name in _TERMINAL if name not in sys.modules]
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # as above
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
