"""What the tools of an assistant cannot read on behalf of an owner."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal, NamedTuple

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.knowledge.v1 import knowledge_pb2
from heddle.rubric.v1 import rubric_pb2
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import HeddleError, NotFoundError
from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.services import ServiceClients, call


class Unreachable(Model):
    """Something that a tool is configured to read, and that the owner may not read."""

    field: str = Field(
        description="The path in the assistant, such as `tools[0].config.rubric_id`."
    )
    kind: Literal["collection", "rubric"]
    id: str
    reason: Literal["private", "not found", "not checked"] = Field(
        description="`private`: its owner can share it with the organisation. `not checked`: the "
        "service that knows it could not be reached."
    )


class _Resource(NamedTuple):
    field: str
    kind: Literal["collection", "rubric"]
    id: str


async def unreachable(
    services: ServiceClients, assistant: Assistant, owner: str
) -> list[Unreachable]:
    """Return the collections and rubrics of an assistant's tools that `owner` may not read.

    They are looked up on behalf of the caller.
    """
    checks: dict[str, Callable[[ServiceClients, str, str], Awaitable[bool]]] = {
        "collection": _reaches_collection,
        "rubric": _reaches_rubric,
    }
    missing = []
    for resource in _resources(assistant):
        reason: Literal["private", "not found", "not checked"] = "private"
        try:
            if await checks[resource.kind](services, resource.id, owner):
                continue
        except NotFoundError:
            reason = "not found"
        except HeddleError:
            reason = "not checked"
        missing.append(Unreachable(**resource._asdict(), reason=reason))
    return missing


def _resources(assistant: Assistant) -> Iterator[_Resource]:
    for index, binding in enumerate(assistant.tools):
        config: dict[str, Any] = from_struct(binding.config)
        place = f"tools[{index}].config"
        collections = config.get("collections")
        for number, each in enumerate(collections if isinstance(collections, list) else ()):
            yield _Resource(f"{place}.collections[{number}]", "collection", str(each))
        if rubric := config.get("rubric_id"):
            yield _Resource(f"{place}.rubric_id", "rubric", str(rubric))


async def _reaches_collection(services: ServiceClients, name: str, owner: str) -> bool:
    request = knowledge_pb2.GetCollectionRequest(name=name)
    collection = (await call(services.knowledge.GetCollection, request)).collection
    shared = (knowledge_pb2.SHARING_ORGANIZATION, knowledge_pb2.SHARING_EVERYONE)
    return collection.sharing in shared or canonical_email(collection.owner) == owner


async def _reaches_rubric(services: ServiceClients, identifier: str, owner: str) -> bool:
    rubric = (
        await call(services.rubrics.GetRubric, rubric_pb2.GetRubricRequest(id=identifier))
    ).rubric
    return rubric.public or canonical_email(rubric.owner) == owner
