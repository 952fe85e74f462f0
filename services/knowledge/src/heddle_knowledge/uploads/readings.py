"""Reads from a request how a file is ingested."""

from collections.abc import Iterator
from dataclasses import replace

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.errors import Violation
from heddle_runtime.http.egress import document_address_problem

from heddle_knowledge.service.calls import check_enums, check_range, refuse
from heddle_knowledge.service.requests import choice, chunking_of
from heddle_knowledge.uploads.records import Reading
from heddle_knowledge.web.transcripts import video_of

_MAX_LANGUAGE_CHARACTERS = 35
_MAX_SECONDS = 3_600
_FIELDS = (
    *("chunking", "whole_paragraphs", "uri", "source"),
    *("transcript_language", "transcript_seconds"),
)


def reading_of(request: pb.AttachFileRequest) -> Reading | None:
    """Return the options of a file's ingestion; None if the request sets none.

    Raises:
        InvalidRequestError: A field breaks its rule.
    """
    refuse(_violations(request), "The file cannot be ingested in this way.")
    present = {field.name for field, _ in request.ListFields()}
    if present.isdisjoint(_FIELDS):
        return None
    split = request.HasField("chunking") or request.whole_paragraphs
    chunking = replace(chunking_of(request.chunking), whole_paragraphs=request.whole_paragraphs)
    return Reading(
        chunking=chunking if split else None,
        uri=request.uri,
        source=choice(pb.FileSource.DESCRIPTOR, request.source, "content"),
        language=request.transcript_language,
        seconds=request.transcript_seconds,
    )


def _violations(request: pb.AttachFileRequest) -> Iterator[Violation]:
    for name, rule in chunking_of(request.chunking).problems():
        yield Violation(f"chunking.{name}", rule)
    yield from check_enums(request)
    yield from check_range(request, "transcript_seconds", 0, _MAX_SECONDS)
    if len(request.transcript_language) > _MAX_LANGUAGE_CHARACTERS:
        rule = f"must have at most {_MAX_LANGUAGE_CHARACTERS} characters"
        yield Violation("transcript_language", rule)
    if request.uri or request.source in {pb.FILE_SOURCE_WEB, pb.FILE_SOURCE_TRANSCRIPT}:
        if problem := document_address_problem(request.uri):
            yield Violation("uri", problem)
        elif request.source == pb.FILE_SOURCE_TRANSCRIPT and not video_of(request.uri):
            yield Violation("uri", "must be the address of a YouTube video")
