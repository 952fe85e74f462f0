"""A bucket of a server that speaks S3, for bytes that every replica must be able to read."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from heddle_runtime.errors import StorageError
from heddle_runtime.errors.conditions import Check, Condition
from heddle_runtime.storage.failures import storage_error

if TYPE_CHECKING:
    from obstore.store import S3Store

_URL = "HEDDLE_OBJECTS_URL"
_PLACE = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([^?#]*))?")
_TIMEOUT_SECONDS = 20
_PROBE = "probe"
"""A key under which there is no object."""
_OF_CLIENT = ("allow_http",)
"""The options for connections; the others are for S3."""


class ObjectStoreSettings(BaseSettings):
    """Where services store bytes that their replicas share."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    objects_url: str = Field(
        default="",
        validation_alias=_URL,
        description="Where replicas store bytes together: s3://BUCKET/PREFIX. The connector "
        "service stores generated images there, and the knowledge service uploaded files and "
        "pictures of pages, if its store is PostgreSQL. Without it, generated images are in a "
        "folder, and the others in the database.",
    )
    objects_options: dict[str, SecretStr] = Field(
        default={},
        validation_alias="HEDDLE_OBJECTS_OPTIONS",
        description="What that address needs besides, as a JSON object: endpoint, region, "
        "aws_access_key_id, aws_secret_access_key, allow_http. What is missing is taken from the "
        "variables AWS_*.",
    )

    @model_validator(mode="after")
    def _require_a_bucket(self) -> Self:
        if self.objects_url and not _PLACE.fullmatch(self.objects_url):
            message = f"{_URL} must be s3://BUCKET or s3://BUCKET/PREFIX"
            raise ValueError(message)
        return self

    def object_store(self) -> "ObjectStore | None":
        """Return the store, None if there is none."""
        if not self.objects_url:
            return None
        options = {key: value.get_secret_value() for key, value in self.objects_options.items()}
        return ObjectStore(self.objects_url, options)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The description of an object in a bucket."""

    key: str
    size: int
    modified: datetime


class ObjectStore:
    """A bucket, or a part of it. Blocks: call it from a thread.

    All methods raise `StorageError` if the server cannot be reached or refuses.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        """Take the address, `s3://BUCKET/PREFIX`, and further options of the client."""
        self._url = url
        self._options = dict(options)
        self._opened: S3Store | None = None

    def put(self, key: str, data: bytes) -> None:
        """Store an object."""
        with self._translated():
            self._store.put(key, data)

    def get(self, key: str) -> bytes | None:
        """Return an object, None if there is none."""
        from obstore.exceptions import NotFoundError  # noqa: PLC0415 - see `_store`

        with self._translated():
            try:
                return bytes(self._store.get(key).bytes())
            except (FileNotFoundError, NotFoundError):
                return None

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        with self._translated():
            self._store.delete(key)

    def all(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys begin with a prefix, which ends with a slash."""
        with self._translated():
            pages = list(self._store.list(prefix))
        return [
            StoredObject(str(each["path"]), each["size"], each["last_modified"])
            for page in pages
            for each in page
        ]

    @property
    def _store(self) -> "S3Store":
        if self._opened is None:
            from obstore.store import S3Store  # noqa: PLC0415 - most processes need no S3

            match = _PLACE.fullmatch(self._url)
            bucket, prefix = match.groups() if match else ("", "")
            of_client: dict[str, Any] = {"timeout": f"{_TIMEOUT_SECONDS}s"}
            of_client |= {
                key: self._options[key] == "true" for key in _OF_CLIENT if key in self._options
            }
            self._opened = S3Store(
                bucket,
                prefix=(prefix or "").strip("/") or None,
                config={  # type: ignore[arg-type] # keys of the operator, which obstore checks
                    key: value for key, value in self._options.items() if key not in _OF_CLIENT
                },
                client_options=of_client,  # type: ignore[arg-type] # as above
                retry_config={
                    "max_retries": 3,
                    "retry_timeout": timedelta(seconds=_TIMEOUT_SECONDS),
                },
            )
        return self._opened

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - see `_store`

        try:
            yield
        except (BaseError, OSError) as error:
            cause = str(error).partition("\n")[0]
            raise storage_error(f"The object store at {self._url} fails: {cause}") from error


def object_store_check(store: ObjectStore) -> Check:
    """Return the check that a store can be read. Services work without it as far as they can."""

    async def check() -> Condition | None:
        try:
            await asyncio.to_thread(store.get, _PROBE)
        except StorageError as error:
            return Condition(error.diagnosis, external=True)
        return None

    return check
