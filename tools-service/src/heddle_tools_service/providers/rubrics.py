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
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from heddle_tools_service.capabilities.rubrics import Rubric
from heddle_tools_service.providers.rubric_client import RubricClient
from heddle_tools_service.sdk import Assistant

log = structlog.get_logger(__name__)
_MAX_FILE_BYTES = 1024 * 1024
_ENDINGS = frozenset({".yaml", ".yml", ".json"})


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
