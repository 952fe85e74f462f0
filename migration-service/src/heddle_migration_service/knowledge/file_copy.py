"""Copies one file of a collection, and checks that it arrived."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.http.egress import document_address_problem

from heddle_migration_service.knowledge.owners_files import FILE, OwnersFiles
from heddle_migration_service.knowledge.reading import HEDDLES_FILE_BYTES, LambFile, LambReader
from heddle_migration_service.lamb.knowledge_registry import LambServer

PLUGIN = "lamb_plugin"
"""The attribute with the plugin that LAMB has read a file with, as the gateway names it."""
SOURCE = "source_url"
FOLDER = "folder"
"""The attribute with the path of the folder of a file."""
FILENAME = "filename"
"""The attribute with LAMB's name of a file, which may be an address."""
_DEFAULT_PLUGIN = "simple_ingest"
_COPIED = pb.ATTACHMENT_STATUS_COMPLETED
_MAX_NAME, _ATTRIBUTE_CHARACTERS = 200, 512
_TEXT_OF = re.compile(r"[^\w.()+ -]+")
_SIZE_UNIT = 1024**2
_OF_ADDRESSES = "/:?#[]@!$&'*+,;=%~"  # brackets would end a link in a prompt


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """What became of a file."""

    passages: int
    note: str = ""
    """What a person should know; empty for an exact copy."""


@dataclass(eq=False, slots=True)
class FileCopy:
    """Copies files of one collection."""

    reader: LambReader
    server: LambServer
    files: OwnersFiles
    collection: str

    async def run(self, file: LambFile, former: pb.AttachedFile | None) -> CopiedFile:
        """Copy a file: as it was uploaded, or else the text that LAMB has read from it.

        Args:
            file: LAMB's file.
            former: What an earlier import has left of it.

        Raises:
            InvalidRequestError: It cannot be copied.
            HeddleError: It cannot be copied now.
        """
        if former is not None:
            former = await self.files.settled(former)
            if former.status == _COPIED:
                return CopiedFile((await self.files.document(former)).passage_count)
            await self.files.detach(former)
        reason = await self._copy_original(file)
        if isinstance(reason, CopiedFile):
            return reason
        text = await self.reader.text(self.server, file)
        if not text or not text.strip():
            raise InvalidRequestError(f"{reason} LAMB has no text of it either.")
        attached = await self._attach(file, _text_name(file), "text/markdown", text.encode())
        if attached.status != _COPIED:
            raise HeddleError(f"{reason} LAMB's text of it is not ingested: {attached.error}")
        passages = await self._verified(attached, text.encode())
        return CopiedFile(passages, f"{reason} LAMB's text of it is copied instead.")

    async def _copy_original(self, file: LambFile) -> CopiedFile | str:
        """Return the copy, or why there is none."""
        data = await self.reader.content(self.server, file)
        if data is None:
            return "LAMB's server does not have the file."
        if file.file_size and len(data) != file.file_size:
            raise HeddleError(
                f"LAMB's server sent {len(data):,} bytes of {file.file_size:,}. Import again."
            )
        if len(data) > HEDDLES_FILE_BYTES:
            return (
                f"The file has {len(data) / _SIZE_UNIT:.0f} MiB, more than the "
                f"{HEDDLES_FILE_BYTES // _SIZE_UNIT} MiB that Heddle takes."
            )
        name = PurePosixPath(file.original_filename.replace("\\", "/")).name or "file"
        media_type = "" if PurePosixPath(name).suffix else file.content_type or ""
        attached = await self._attach(file, name, media_type, data)
        if attached.status == _COPIED:
            return CopiedFile(await self._verified(attached, data))
        if not attached.unreadable:
            raise HeddleError(f"The file is not ingested: {attached.error}")
        await self.files.detach(attached)
        return f"Heddle cannot read the file: {attached.error}"

    async def _attach(
        self, file: LambFile, name: str, media_type: str, data: bytes
    ) -> pb.AttachedFile:
        digest = hashlib.sha256(data).hexdigest()
        upload = pb.CreateFileRequest(
            filename=name,
            purpose="assistants",
            media_type=media_type,
            data=data,
            upload_key=f"lamb {self.collection} {file.id} {name} {digest}",
        )
        link = address(self.server, file)
        return await self.files.attach(self.collection, upload, _attributes(file), link)

    async def _verified(self, attached: pb.AttachedFile, data: bytes) -> int:
        """Return the number of passages of a file, after its size and digest were compared."""
        document = await self.files.document(attached)
        if document.size != len(data) or document.sha256 != hashlib.sha256(data).hexdigest():
            raise HeddleError("The copy differs from the file of LAMB. Import again.")
        return document.passage_count


def _attributes(file: LambFile) -> dict[str, Any]:
    attributes: dict[str, Any] = {FILE: file.id}
    if name := file.original_filename[:_ATTRIBUTE_CHARACTERS]:
        attributes[FILENAME] = name
    if file.plugin_name and file.plugin_name != _DEFAULT_PLUGIN:
        attributes[PLUGIN] = file.plugin_name[:_ATTRIBUTE_CHARACTERS]
    if file.folder:
        attributes[FOLDER] = file.folder[:_ATTRIBUTE_CHARACTERS]
    if source := _source(file):
        attributes[SOURCE] = source
    return attributes


def address(server: LambServer, file: LambFile) -> str:
    """Return where people open a file: its source, or what LAMB links; empty if nowhere."""
    link = _source(file) or file.file_url or ""
    if link.startswith("/"):
        link = server.url + link
    link = quote(link, safe=_OF_ADDRESSES)
    return "" if document_address_problem(link) else link


def _source(file: LambFile) -> str:
    """Return the address that LAMB has read a file from, if it is one."""
    parameters = file.plugin_params or {}
    urls = parameters.get("urls")
    candidates = [file.original_filename, parameters.get("video_url"), parameters.get("url")]
    candidates += urls[:1] if isinstance(urls, list) else []
    for each in candidates:
        if isinstance(each, str) and each.startswith(("https://", "http://")):
            return each if len(each) <= _ATTRIBUTE_CHARACTERS else ""
    return ""


def _text_name(file: LambFile) -> str:
    """Return the name of the text of a file, which may be called after an address."""
    name = file.original_filename.partition("://")[2] or file.original_filename
    plain = _TEXT_OF.sub("-", name).strip(" -.")[:_MAX_NAME]
    return f"{plain or 'text'}.md"
