"""Describes methods and messages as grpcurl does, from what a server reflects."""

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

_KINDS = FieldDescriptorProto.DESCRIPTOR.enum_types_by_name["Type"].values_by_number


def description(address: str, symbol: str) -> str:
    """Return the description of the method or message `symbol` of the server at `address`."""
    with grpc.insecure_channel(address) as channel:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        parent, _, name = symbol.rpartition(".")
        if parent[parent.rindex(".") + 1].isupper():  # `heddle.tool.v1.ToolService.ExecuteTool`
            method = pool.FindServiceByName(parent).methods_by_name[name]
            takes = _shown(method.input_type.full_name, method.client_streaming)
            gives = _shown(method.output_type.full_name, method.server_streaming)
            return f"{symbol} is a method:\nrpc {name} ( {takes} ) returns ( {gives} );\n"
        fields = "".join(_field(field) for field in pool.FindMessageTypeByName(symbol).fields)
        return f"{symbol} is a message:\nmessage {name} {{\n{fields}}}\n"


def _shown(name: str, streaming: bool) -> str:
    return f"{'stream ' if streaming else ''}.{name}"


def _field(field: FieldDescriptor) -> str:
    kind = (
        f".{field.message_type.full_name}"
        if field.message_type
        else _KINDS[field.type].name.removeprefix("TYPE_").lower()
    )
    return f"  {'repeated ' if field.is_repeated else ''}{kind} {field.name} = {field.number};\n"
