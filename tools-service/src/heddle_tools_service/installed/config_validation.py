"""Validates configurations of tools before an assistant is stored or a tool is run."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from google.rpc.error_details_pb2 import BadRequest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import HeddleError, NotFoundError, Violation

from heddle_tools_service.installed.registry import Registry
from heddle_tools_service.workers.tools import PluginTool

_AT_ONCE = 200
"""The number of configurations that are checked before other tasks run: a few milliseconds."""


async def validate_configs(
    registry: Registry, requests: Sequence[pb.ValidateToolConfigRequest], *, effective: bool
) -> list[pb.ValidateToolConfigResponse]:
    """Return the violations of each configuration. An unknown tool is a violation, too.

    Args:
        registry: The tools.
        requests: The configurations.
        effective: Whether the responses have the configurations with their defaults.
    """
    responses = [pb.ValidateToolConfigResponse() for _ in requests]
    of_plugins: dict[PluginTool, list[int]] = defaultdict(list)
    for index, request in enumerate(requests):
        if index % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)  # other calls must not wait for a large batch
        if (plugin := registry.plugin(request.name)) is not None:
            of_plugins[plugin].append(index)
        else:
            responses[index] = _response(registry, request, effective=effective)
    work = [
        (plugin, chunk)
        for plugin, each in of_plugins.items()
        for chunk in (each[start : start + _AT_ONCE] for start in range(0, len(each), _AT_ONCE))
    ]
    checked = await asyncio.gather(
        *(_of_plugin(plugin, [requests[index] for index in chunk]) for plugin, chunk in work)
    )
    for (_, chunk), some in zip(work, checked, strict=True):
        for index, response in zip(chunk, some, strict=True):
            responses[index] = response
    return responses


def _response(
    registry: Registry, request: pb.ValidateToolConfigRequest, *, effective: bool
) -> pb.ValidateToolConfigResponse:
    try:
        installed = registry.get(request.name)
    except NotFoundError as error:
        return _invalid([Violation("name", error.message)])
    with_defaults, violations = installed.validate(request.config, request.mode)
    if violations or not effective:
        return _invalid(violations)
    return pb.ValidateToolConfigResponse(effective_config=to_struct(with_defaults))


async def _of_plugin(
    plugin: PluginTool, requests: Sequence[pb.ValidateToolConfigRequest]
) -> Sequence[pb.ValidateToolConfigResponse]:
    try:
        return await plugin.validate(requests)
    except (HeddleError, TimeoutError) as error:
        reason = str(error) or "it takes too long"
        problem = Violation("config", f"cannot be checked by the tool {plugin.name!r}: {reason}")
        return [_invalid([problem])] * len(requests)


def _invalid(violations: Iterable[Violation]) -> pb.ValidateToolConfigResponse:
    return pb.ValidateToolConfigResponse(
        violations=[
            BadRequest.FieldViolation(field=each.field, description=each.description)
            for each in violations
        ]
    )
