"""Plugins of LAMB that read something else than a file: web pages, videos and texts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar
from urllib.parse import unquote, urlsplit

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_gateway.http.body import UploadedFile
from heddle_gateway.http.error_responses import invalid
from heddle_runtime.http.egress import document_address_problem
from pydantic import BeforeValidator, Field

from heddle_migration_service.knowledge_server.ingestion_parameters import (
    PATH,
    ChunkParameters,
    Fixed,
    Parameters,
    Source,
)

MAX_URLS = 100
_LINK = "text/uri-list"
_MAX_NAME = 200
_MAX_SECONDS = 3_600
_SECTION = 4_000
"""Characters of a section of a transcript that is one passage; such sections are seldom longer."""
_NO_NAME = re.compile(r"[^\w.()-]+")
_VIDEO = re.compile(
    r"(?:[?&]v=|youtu\.be/|/embed/|/shorts/|/live/|^)([A-Za-z0-9_-]{11})(?=$|[?&#/])"
)
_Urls = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(max_length=MAX_URLS, description="Addresses, each of which becomes a job."),
]


class UrlParameters(ChunkParameters):
    """Parameters of `url_ingest`."""

    urls: _Urls = Field(default=[])
    url: str = Field(default="", description="One address, in place of urls.")

    def sources(self, file: UploadedFile | None) -> Iterator[Source]:
        """Yield a link for each address; those of a file if the parameters have none.

        Raises:
            InvalidRequestError: Names an address that cannot be, or there is none.
        """
        urls = self.urls or [self.url] * bool(self.url) or _lines(file)
        if not 1 <= len(urls) <= MAX_URLS:
            raise invalid(f"{PATH}.urls", f"must have 1 to {MAX_URLS} items")
        for index, url in enumerate(urls):
            if problem := document_address_problem(url):
                raise invalid(f"urls[{index}]", problem)
        for url in urls:
            request = pb.AttachFileRequest(uri=url, source=pb.FILE_SOURCE_WEB)
            yield link(url, file if len(urls) == 1 else None), request


class TextParameters(ChunkParameters):
    """Parameters of `base_ingest`."""

    text: str = Field(default="", description="The text to add.")
    title: str = Field(default="", max_length=_MAX_NAME, description="What results call it.")
    source_url: str = Field(default="", description="Where people can read it.")

    def sources(self, file: UploadedFile | None) -> Iterator[Source]:
        """Yield the text as a file.

        Raises:
            InvalidRequestError: The text is empty, or the address cannot be.
        """
        text = self.text or _content(file)
        if not text.strip():
            raise invalid(f"{PATH}.text", "must not be empty")
        _check_address("source_url", self.source_url)
        name = file_name(self.title or "text")
        document = UploadedFile(f"{name}.txt", "text/plain;charset=utf-8", text.encode())
        yield document, pb.AttachFileRequest(uri=self.source_url)


class VideoParameters(Parameters):
    """Parameters of `youtube_transcript_ingest`."""

    FIXED: ClassVar[Mapping[str, Fixed]] = {
        "proxy_url": Fixed("", "the operator decides how servers are reached")
    }

    video_url: str = Field(
        default="",
        description="The address of the video, or its identifier. If empty, the file has one "
        "address in each line.",
    )
    transcript: str = Field(
        default="",
        description="The transcript as WebVTT, SubRip or text. If empty, Heddle fetches it from "
        "YouTube.",
    )
    language: str = Field(
        default="en", max_length=35, description="The language of the transcript, as `es`."
    )
    chunk_duration: float = Field(
        default=60, ge=1, le=_MAX_SECONDS, description="Seconds of the video that a chunk has."
    )

    def sources(self, file: UploadedFile | None) -> Iterator[Source]:
        """Yield a transcript, or a link for each video.

        Raises:
            InvalidRequestError: There is no video, or an address is not that of one.
        """
        urls = [self.video_url] if self.video_url else _lines(file)
        if not 1 <= len(urls) <= MAX_URLS:
            raise invalid(f"{PATH}.video_url", "must be the address of a YouTube video")
        videos = [_VIDEO.search(url) for url in urls]
        identifiers = [video[1] for video in videos if video]
        if len(identifiers) < len(urls):
            raise invalid(f"{PATH}.video_url", "must be the address of a YouTube video")
        if self.transcript:
            yield self._supplied(identifiers[0])
            return
        for identifier in identifiers:
            uri = f"https://youtu.be/{identifier}"
            yield (
                link(uri, file if len(urls) == 1 else None),
                pb.AttachFileRequest(
                    uri=uri,
                    source=pb.FILE_SOURCE_TRANSCRIPT,
                    transcript_language=self.language,
                    transcript_seconds=round(self.chunk_duration),
                ),
            )

    def splitting(self) -> pb.AttachFileRequest:
        """Return fields of a request that make a section of a transcript one passage."""
        request = pb.AttachFileRequest()
        request.chunking.target_characters = _SECTION
        return request

    def notes(self) -> dict[str, str]:
        """Return what is noted of the transcripts."""
        return {"language": self.language}

    def _supplied(self, identifier: str) -> Source:
        timed = "-->" in self.transcript
        seconds = round(self.chunk_duration)
        kind = f"text/vtt;charset=utf-8;seconds={seconds}" if timed else "text/plain;charset=utf-8"
        name = f"{identifier}.{'vtt' if timed else 'txt'}"
        uri = f"https://youtu.be/{identifier}"
        file = UploadedFile(name, kind, self.transcript.encode())
        return file, pb.AttachFileRequest(uri=uri)


def link(url: str, placeholder: UploadedFile | None = None) -> UploadedFile:
    """Return a file that holds an address, named as the one that LAMB sends in its place."""
    if placeholder:
        return replace(placeholder, media_type=_LINK, data=f"{url}\r\n".encode())
    parts = urlsplit(url)
    host = parts.hostname or ""
    path = unquote(parts.path, errors="replace").strip("/")
    return UploadedFile(file_name(f"{host} {path}"), _LINK, f"{url}\r\n".encode())


def file_name(text: str) -> str:
    """Return a name for a file from a text."""
    return _NO_NAME.sub("-", text).strip("-.")[:_MAX_NAME] or "document"


def _lines(file: UploadedFile | None) -> list[str]:
    return [line.strip() for line in _content(file).splitlines() if line.strip()]


def _content(file: UploadedFile | None) -> str:
    return file.data.decode("utf-8", "replace") if file else ""


def _check_address(name: str, url: str) -> None:
    if url and (problem := document_address_problem(url)):
        raise invalid(f"{PATH}.{name}", problem)
