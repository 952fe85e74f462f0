"""Requests made from descriptors: valid, odd and invalid values in any combination."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct

MAX_DEPTH = 5
MAX_STRUCT_DEPTH = 60
"""More than protobuf decodes."""
_ODD_TEXTS = (
    "",
    " ",
    "a",
    "0",
    "-1",
    "9" * 40,
    "nul\0here",
    "\u202e\ufeff🧵",
    "e\u0301" * 50,
    "../../etc/passwd",
    "%2e%2e%2f",
    "' OR '1'='1",
    "lamb_assistant.1",
    "lamb_assistant.999999999999999999999",
    "http://127.0.0.1:1/",
    "http://[",
    "2026-11-23T00:00:00Z",
    "{}",
    '{"a": [1, NaN]}',
    "[" * 3000,
    "{user_input}{context}" * 20,
    "x" * 70_000,
    "ana@uni.example",
    "uni",
    "school",
    "bypass",
    "simple-bypass",
    "llm",
    "calculator",
)
_INTEGERS = (
    0,
    1,
    -1,
    2,
    7,
    100,
    1000,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
)
_FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf)
_BYTES = (b"", b"a", b"\xff\xfe\0", b"%PDF-1.7\n", b"\x89PNG\r\n\x1a\n", b"{}", b"x" * 100_000)
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


class Requests:
    """Makes requests. The same seed makes the same ones."""

    def __init__(self, seed: int, texts: Sequence[str]) -> None:
        """Use `texts`, for example identifiers that exist, beside odd ones."""
        self._random = random.Random(seed)  # noqa: S311 - for repeatable tests
        self._texts = texts

    def encoded(self, kind: Descriptor) -> bytes:
        """Return a request of a kind on the wire, rarely not decodable."""
        message = GetMessageClass(kind)()
        self._fill(message, 0, self._random.choice((0.2, 0.6, 1.0)))
        encoded: bytes = message.SerializeToString()
        match self._random.randrange(40):
            case 0:
                return encoded[: self._random.randrange(len(encoded) + 1)]
            case 1:
                return self._random.randbytes(self._random.randrange(200))
            case _:
                return encoded

    def _fill(self, message: Message, depth: int, share: float) -> None:
        if isinstance(message, Struct):
            self._fill_struct(message)
            return
        for field in message.DESCRIPTOR.fields:
            if self._random.random() < share:
                self._set(message, field, depth, share)

    def _set(self, message: Message, field: Any, depth: int, share: float) -> None:
        if field.is_repeated:
            self._extend(message, field, depth, share)
        elif field.message_type is None:
            setattr(message, field.name, self._scalar(field))
        elif depth < MAX_DEPTH:
            inner = getattr(message, field.name)
            inner.SetInParent()
            self._fill(inner, depth + 1, share)

    def _extend(self, message: Message, field: FieldDescriptor, depth: int, share: float) -> None:
        values = getattr(message, field.name)
        kind = field.message_type
        count = self._random.choice((0, 1, 1, 2, 3))
        if self._random.random() < 0.01:
            count = 3000
        if kind is not None and kind.GetOptions().map_entry:
            for _ in range(min(count, 50)):
                self._put(values, kind, depth, share)
        elif kind is None:
            values.extend(self._scalar(field) for _ in range(count))
        elif depth < MAX_DEPTH:
            for _ in range(count):
                self._fill(values.add(), depth + 1, share if count < 10 else 0.05)

    def _put(self, values: Any, kind: Descriptor, depth: int, share: float) -> None:
        key = self._scalar(kind.fields_by_name["key"])
        value = kind.fields_by_name["value"]
        if value.message_type is None:
            values[key] = self._scalar(value)
        else:
            self._fill(values[key], depth + 1, share)

    def _scalar(self, field: FieldDescriptor) -> Any:
        kind = field.cpp_type
        if kind in _RANGES:
            low, high = _RANGES[kind]
            return self._random.choice([each for each in _INTEGERS if low <= each <= high])
        if kind == FieldDescriptor.CPPTYPE_ENUM and field.enum_type is not None:
            known = [value.number for value in field.enum_type.values]
            return self._random.choice([*known, *known, 999, -1])
        return self._random_text_or_number(field, kind)

    def _random_text_or_number(self, field: FieldDescriptor, kind: int) -> Any:
        makers: dict[int, Callable[[], Any]] = {
            FieldDescriptor.CPPTYPE_BOOL: lambda: self._random.random() < 0.5,
            FieldDescriptor.CPPTYPE_DOUBLE: lambda: self._random.choice(_FLOATS),
            FieldDescriptor.CPPTYPE_FLOAT: lambda: self._random.choice(_FLOATS),
        }
        if maker := makers.get(kind):
            return maker()
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self._random.choice(_BYTES)
        return self._random.choice(self._texts if self._random.random() < 0.5 else _ODD_TEXTS)

    def _fill_struct(self, struct: Struct) -> None:
        inner = struct
        for _ in range(self._random.choice((1, 1, 2, 20, MAX_STRUCT_DEPTH))):
            inner["a"] = self._random.choice(_FLOATS)
            inner["tools"] = self._random.choice((True, None, "x"))
            inner = inner.get_or_create_struct(self._random.choice(("b", "config", "\0")))
