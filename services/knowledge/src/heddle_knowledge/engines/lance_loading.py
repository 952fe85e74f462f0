"""Loads LanceDB without the messages of its remote servers.

`lancedb` imports a model of pydantic for each of 160 messages of a server that Heddle does not
call: 20 MB and half a second. Here a message is loaded when one is made, as for the answer of
`list_tables`.
"""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_CLIENT = "lance_namespace_urllib3_client"
_MODELS = f"{_CLIENT}.models"
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def defer_messages() -> None:
    """Let `lancedb`, imported afterwards, load messages on demand. Does nothing if it has them."""
    if _CLIENT in sys.modules:
        return
    spec = find_spec(_CLIENT)
    if spec is None or not spec.submodule_search_locations:
        return
    [folder] = spec.submodule_search_locations
    client, models = ModuleType(_CLIENT), _Messages(_MODELS)
    # Modules within both packages are imported as usual.
    client.__path__, models.__path__ = [folder], [str(Path(folder) / "models")]
    sys.modules |= {_CLIENT: client, _MODELS: models}


class _Messages(ModuleType):
    def __getattr__(self, name: str) -> type:
        if name.startswith("_"):
            raise AttributeError(name)
        deferred = _deferred(name)
        setattr(self, name, deferred)
        return deferred


def _deferred(name: str) -> type:
    def make(_: type, *values: object, **fields: object) -> object:
        module = import_module(f"{_MODELS}.{_WORD_START.sub('_', name).lower()}")
        return getattr(module, name)(*values, **fields)

    return type(name, (), {"__new__": make})
