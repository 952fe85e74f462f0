"""The four shapes that `metadata.tools` has in the wild, in one normal form.

A binding is `{id, type, mode, enabled, slot?, config}`. Members that it does not know stay in it;
members with a value of the wrong kind are set aside in it. What is normal stays as it is.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from heddle_conversion.columns import MOST_COLLECTIONS, Notes, top_k_of
from heddle_conversion.processors import CONTEXT, KNOWLEDGE, RENAMED
from heddle_conversion.unmapped_fields import set_aside

MODES = ("augment", "function", "agent")
_NAMED = {"assistant": "assistant_id", "knowledge_base": "kb_id"}
"""Entries that a model was to call, and the member that is their whole configuration."""
# What templates can name: in the oldest form of many tools slots are numbered, `{1_context}`.
_SLOT = re.compile(r"(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,63}")


@dataclass(frozen=True, slots=True)
class Tools:
    """The converted value of `metadata.tools`."""

    bindings: list[dict[str, Any]]
    """Without an id where the old entry has none."""
    unmapped: dict[str, Any]
    """Under `tools`, whatever names no tool."""
    notes: Notes


def normal(tools: object, *, exact: bool = True) -> Tools:
    """Return the bindings that the value of `metadata.tools` describes.

    Args:
        tools: The value.
        exact: Whether a number of results beyond the bounds of version 2 stays as it is.
    """
    if tools is None:
        return Tools([], {}, ())
    if not isinstance(tools, list):
        return Tools([], {"tools": tools}, ("tools is not a list; it was set aside.",))
    read = [_binding(entry, exact=exact) for entry in tools]
    odd = [entry for entry, (binding, _) in zip(tools, read, strict=True) if binding is None]
    notes = tuple(note for _, binding_notes in read for note in binding_notes)
    if odd:
        notes += ("An entry of tools names no tool; it was set aside.",)
    return Tools([binding for binding, _ in read if binding], {"tools": odd} if odd else {}, notes)


def numbered(bindings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `bindings` with ids: their own, or `<type>`, `<type>_2`, … where that is no use."""
    entries = list(bindings)
    taken = {binding["id"] for binding in entries if "id" in binding}
    assigned: set[str] = set()
    numbers: Counter[str] = Counter()  # or each of thousands would begin with 1 again
    ids: list[str] = []
    for binding in entries:
        name = binding.get("id", "")
        if not name or name in assigned:
            name = _free(binding["type"], taken, numbers)
        taken.add(name)
        assigned.add(name)
        ids.append(name)
    return [{**binding, "id": name} for binding, name in zip(entries, ids, strict=True)]


def _free(kind: str, taken: Container[str], numbers: Counter[str]) -> str:
    """Return the first of `<type>`, `<type>_2`, … that is not taken; `numbers` were looked at."""
    while True:
        numbers[kind] += 1
        name = kind if numbers[kind] == 1 else f"{kind}_{numbers[kind]}"
        if name not in taken:
            return name


def _binding(entry: object, *, exact: bool) -> tuple[dict[str, Any] | None, Notes]:
    if isinstance(entry, str) and entry.strip():
        binding = {"type": entry.strip(), "mode": "function", "enabled": True, "config": {}}
        return binding, ()
    if not isinstance(entry, dict):
        return None, ()
    binding = dict(entry)
    odd: dict[str, Any] = {}
    if not _name(binding, odd):
        return None, ()
    notes = _slot(binding, odd)
    _settle(binding, odd)
    notes += _configure(binding, odd, exact=exact)
    set_aside(binding, odd)
    if odd:
        notes += (f"Members of {_shown(binding)} had values of the wrong kind.",)
    return binding, notes


def _name(binding: dict[str, Any], odd: dict[str, Any]) -> bool:
    """Give a binding its type; say whether it names one."""
    kind = binding.get("type")
    if not (isinstance(kind, str) and kind.strip()):
        plugin = binding.get("plugin")
        if not (isinstance(plugin, str) and plugin.strip()):
            return False
        if kind is not None:
            odd["type"] = kind
        kind = binding.pop("plugin")
        if "slot" not in binding:  # that is where the branch put what such a tool found
            binding.setdefault("placeholder", CONTEXT)
    binding["type"] = RENAMED.get(kind.strip(), kind.strip())
    return True


def _slot(binding: dict[str, Any], odd: dict[str, Any]) -> Notes:
    """Give a binding its slot, if a template can name it."""
    own = binding.pop("slot", None)
    if own not in (None, ""):
        if isinstance(own, str) and fillable(own):
            binding["slot"] = own
            return ()
        odd["slot"] = own
    placeholder = binding.get("placeholder")
    if placeholder in (None, ""):
        return ()
    name = placeholder.strip(" {}") if isinstance(placeholder, str) else ""
    if not fillable(name):
        return (f"The template cannot name the placeholder of {_shown(binding)}.",)
    del binding["placeholder"]
    binding["slot"] = name
    return ()


def fillable(slot: str) -> bool:
    """Return whether a template can have a slot of this name for a tool."""
    return bool(_SLOT.fullmatch(slot)) and slot != "user_input"


def _settle(binding: dict[str, Any], odd: dict[str, Any]) -> None:
    """Give a binding its id, its mode, and whether it is in use."""
    name = binding.pop("id", None)
    if isinstance(name, str) and name:
        binding["id"] = name
    elif name not in (None, ""):
        odd["id"] = name
    mode = binding.get("mode")
    if mode not in MODES:
        if mode not in (None, ""):
            odd["mode"] = mode
        binding["mode"] = "function" if binding["type"] in _NAMED else "augment"
    enabled = binding.get("enabled", True)
    if not isinstance(enabled, bool):
        odd["enabled"] = enabled
        enabled = bool(enabled)
    binding["enabled"] = enabled


def _configure(binding: dict[str, Any], odd: dict[str, Any], *, exact: bool) -> Notes:
    """Give a binding its configuration; unless `exact`, within the bounds of tools that search."""
    config = binding.get("config")
    if not isinstance(config, dict):
        if config is not None:
            odd["config"] = config
        config = {}
    binding["config"] = config = dict(config)
    notes: Notes = ()
    named = _NAMED.get(binding["type"])
    if named in binding and named not in config:
        config[named] = binding.pop(named)
        notes += (f"No tool {binding['type']!r} comes with Heddle yet.",)
    config |= text_identifiers(config)
    collections = config.get("collections")
    if binding["type"] not in KNOWLEDGE:
        return notes
    if isinstance(collections, list) and len(collections) > MOST_COLLECTIONS:
        notes += (f"{_shown(binding)} has more than {MOST_COLLECTIONS} collections.",)
    if "top_k" in config and not exact:
        config["top_k"], bounded = top_k_of(config["top_k"])
        notes += bounded
    return notes


def text_identifiers(config: dict[str, Any]) -> dict[str, Any]:
    """Return the collections of a configuration as texts, if it names any; many are numbers."""
    collections = config.get("collections")
    if not isinstance(collections, list):
        return {}
    return {"collections": [_identifier(each) for each in collections]}


def _identifier(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _shown(binding: dict[str, Any]) -> str:
    return repr(str(binding["type"])[:100])
