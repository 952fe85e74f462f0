"""Values of enumerations of the contracts as words."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from google.protobuf.descriptor import EnumDescriptor


@cache
def enum_names(enum: EnumDescriptor) -> Mapping[int, Any]:
    """Return the names of an enumeration's values, without their prefix and the unspecified one."""
    unspecified, *values = enum.values
    prefix = unspecified.name.removesuffix("UNSPECIFIED")
    return {value.number: value.name.removeprefix(prefix).lower() for value in values}
