"""Assessment rubrics of the database and of a folder with one YAML or JSON file each.

A file holds the columns of a table of rubrics: `rubric_id`, `owner_email`, `organization`,
`is_public`, `title` and `rubric_data`.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
import yaml
from heddle.rubric.v1 import rubric_pb2 as pb
from heddle.rubric.v1 import rubric_pb2_grpc as pb_grpc
from heddle.rubric.v1.rubric_pb2_grpc import RubricServiceAsyncStub
from heddle_runtime.errors import HeddleError, NotFoundError
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import Channel
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from heddle_tools_service.capabilities.rubrics import Rubric
from heddle_tools_service.sdk import Assistant, ToolUnavailableError

log = structlog.get_logger(__name__)
RUBRICS = pb.DESCRIPTOR.services_by_name["RubricService"]
_MAX_FILE_BYTES = 1024 * 1024
_ENDINGS = frozenset({".yaml", ".yml", ".json"})


class RubricClient:
    """Calls the service of rubrics with the credentials of the tool service."""

    def __init__(self, rubrics: Channel, acting: ServiceCredentials) -> None:
        self._rubrics: RubricServiceAsyncStub = pb_grpc.RubricServiceStub(rubrics)  # type: ignore[arg-type] # a local channel stands for a real one
        self._acting = acting

    async def find(self, rubric_id: str, assistant: Assistant) -> Rubric | None:
        """Return a rubric; None if it does not exist or the assistant's owner may not read it.

        Raises:
            ToolUnavailableError: The service does not answer.
        """
        owner = pb.AssistantOwner(owner=assistant.owner, organization=assistant.organization)
        request = pb.GetRubricRequest(id=rubric_id, on_behalf_of=owner)
        try:
            rubric = (await self._acting.call(self._rubrics.GetRubric, request)).rubric
        except NotFoundError:
            return None
        except HeddleError as error:
            log.error("rubric unavailable", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise ToolUnavailableError("the rubrics are unavailable at the moment") from None
        return Rubric(rubric.id, rubric.title, rubric.content_json)


class RubricRecord(BaseModel):
    """A rubric, and who may read it."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    rubric_id: str = Field(min_length=1)
    owner: str = Field(default="", validation_alias=AliasChoices("owner", "owner_email"))
    organization: str = Field(
        default="", validation_alias=AliasChoices("organization", "organization_id")
    )
    is_public: bool = False
    title: str = ""
    rubric_data: Any

    def readable_by(self, assistant: Assistant) -> bool:
        """Return whether `assistant` may use it: its owner's own, or public in the organisation."""
        if self.owner and self.owner == assistant.owner:
            return True
        organization = self.organization or DEFAULT_ORGANIZATION
        is_here = organization == (assistant.organization or DEFAULT_ORGANIZATION)
        return self.is_public and is_here


@dataclass(frozen=True, slots=True)
class AssistantRubrics:
    """The rubrics that an assistant may use: the capability `Rubrics`.

    Those of the database come before those of the operator's folder. Files that are added or
    changed count from the next call on.
    """

    client: RubricClient | None
    """None if there is no database."""
    folder: Path
    assistant: Assistant

    async def get(self, rubric_id: str) -> Rubric | None:
        """Return a rubric; None if it does not exist or the owner may not read it."""
        if self.client and (rubric := await self.client.find(rubric_id, self.assistant)):
            return rubric
        record = await asyncio.to_thread(_find, self.folder, rubric_id)
        if record is None or not record.readable_by(self.assistant):
            return None
        return Rubric(record.rubric_id, record.title, record.rubric_data)


def _find(folder: Path, rubric_id: str) -> RubricRecord | None:
    records = _records(folder) if folder.is_dir() else ()
    return next((record for record in records if record.rubric_id == rubric_id), None)


def _records(folder: Path) -> Iterator[RubricRecord]:
    for path in sorted(folder.iterdir()):
        if path.suffix not in _ENDINGS or not path.is_file():
            continue
        status = path.stat()
        if (record := _read(path, status.st_mtime_ns, status.st_size)) is not None:
            yield record


@lru_cache(maxsize=1_024)
def _read(path: Path, _changed: int, size: int) -> RubricRecord | None:
    """Return the rubric of a file. Its time and size are arguments so that changes count."""
    try:
        if size > _MAX_FILE_BYTES:
            raise ValueError("larger than 1 MiB")  # noqa: TRY301 - reported as all else that is wrong
        return RubricRecord.model_validate(yaml.safe_load(path.read_bytes()))
    except ValidationError as error:
        problem = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()
        )
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        problem = type(error).__name__ if isinstance(error, OSError) else str(error)
    log.warning("rubric skipped", file=path.name, problem=problem)
    return None
