"""The parameters of LAMB's ingestion plugins, as far as they have an effect in Heddle.

A parameter with an empty value counts as missing, because LAMB's forms send all their fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1.knowledge_pb2 import Chunking
from heddle_gateway.http.body import UploadedFile
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import StrictModel, validate
from pydantic import Field

PATH = "plugin_params"
MIN_CHARACTERS, MAX_CHARACTERS = 100, 4_000
_MAX_PARENT = 16_000
_CHARACTERS_PER = {"char": 1, "word": 6, "line": 80}
_CHARACTERS_PER_TOKEN = 4
_MAX_TEXT = 512
_DEFAULT = Chunking(target_characters=450, overlap_characters=0, parent_characters=2_000)
Source = tuple[UploadedFile, pb.AttachFileRequest]
"""A file to store, and fields of the request that attaches it."""
Splitter = Literal["RecursiveCharacterTextSplitter", "CharacterTextSplitter", "TokenTextSplitter"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A parameter that LAMB's clients send, and that Heddle accepts with one value only."""

    value: object
    reason: str


class Parameters(StrictModel):
    """Parameters of a plugin."""

    FIXED: ClassVar[Mapping[str, Fixed]] = {}
    IGNORED: ClassVar[frozenset[str]] = frozenset()

    def sources(self, file: UploadedFile | None) -> Iterator[Source]:
        """Yield what to ingest: by default the file of the form.

        Raises:
            InvalidRequestError: There is nothing to ingest.
        """
        if file is None or not file.data:
            raise invalid("file", "must not be empty", "The field")
        yield file, pb.AttachFileRequest()

    def splitting(self) -> pb.AttachFileRequest:
        """Return the fields of a request that say how files are split; none by default."""
        return pb.AttachFileRequest()

    def notes(self) -> dict[str, str]:
        """Return what is noted of the files, for the results of searches."""
        return {}


class ChunkParameters(Parameters):
    """Sizes of chunks."""

    chunk_size: int = Field(
        default=_DEFAULT.target_characters,
        ge=1,
        le=MAX_CHARACTERS,
        description="Characters of a chunk, at most 4,000; fewer than 100 count as 100. A chunk "
        "has at most twice as many. With TokenTextSplitter, tokens.",
    )
    chunk_unit: Literal["char", "word", "line"] = Field(
        default="char",
        description="What the sizes count: a word as 6 characters, a line as 80.",
    )
    chunk_overlap: int = Field(
        default=_DEFAULT.overlap_characters,
        ge=0,
        le=MAX_CHARACTERS // 2,
        description="What a chunk repeats of the one before, at most half of chunk_size.",
    )
    splitter_type: Splitter = Field(
        default="RecursiveCharacterTextSplitter",
        description="Where chunks end: at paragraphs, lines, sentences or words; with "
        "CharacterTextSplitter only at paragraphs, if these have at most 8,000 characters. "
        "TokenTextSplitter counts four characters as a token.",
    )

    def splitting(self) -> pb.AttachFileRequest:
        """Return the fields of a request that say how files are split.

        Raises:
            InvalidRequestError: The sizes do not fit together.
        """
        if self.model_fields_set.isdisjoint({"chunk_size", "chunk_overlap", "splitter_type"}):
            return pb.AttachFileRequest()
        tokens = self.splitter_type == "TokenTextSplitter"
        unit = _CHARACTERS_PER_TOKEN if tokens else _CHARACTERS_PER[self.chunk_unit]
        target, overlap = self.chunk_size, self.chunk_overlap * unit
        if "chunk_size" in self.model_fields_set:
            target = max(target * unit, MIN_CHARACTERS)
        if target > MAX_CHARACTERS:
            most, name = MAX_CHARACTERS // unit, "tokens" if tokens else f"{self.chunk_unit}s"
            raise invalid(f"{PATH}.chunk_size", f"must be at most {most:,} {name}")
        return pb.AttachFileRequest(
            chunking=_chunking(target, overlap, "chunk_overlap"),
            whole_paragraphs=self.splitter_type == "CharacterTextSplitter",
        )


class FileParameters(ChunkParameters):
    """Parameters of `simple_ingest` and `markitdown_ingest`."""

    IGNORED: ClassVar[frozenset[str]] = frozenset({"moodle_provenance"})

    description: str = Field(
        default="", max_length=_MAX_TEXT, description="A description, which results repeat."
    )
    citation: str = Field(
        default="", max_length=_MAX_TEXT, description="A citation, which results repeat."
    )

    def notes(self) -> dict[str, str]:
        """Return what is noted of the files."""
        notes = {"description": self.description, "citation": self.citation}
        return {name: text for name, text in notes.items() if text}


class PlusParameters(FileParameters):
    """Parameters of `markitdown_plus_ingest`."""

    FIXED: ClassVar[Mapping[str, Fixed]] = {
        "chunking_mode": Fixed("standard", "chunks end at pages and headings in any case"),
        "image_descriptions": Fixed("none", "pictures are not described"),
    }
    IGNORED: ClassVar[frozenset[str]] = frozenset(
        {
            *("pages_per_chunk", "split_on_heading", "headings_per_chunk"),
            *("image_description_mode", "moodle_provenance"),
        }
    )


class HierarchicalParameters(Parameters):
    """Parameters of `hierarchical_ingest`."""

    FIXED: ClassVar[Mapping[str, Fixed]] = {
        "split_by_headers": Fixed(value=True, reason="sections end at headings in any case")
    }

    parent_chunk_size: int = Field(
        default=_DEFAULT.parent_characters,
        ge=MIN_CHARACTERS,
        le=_MAX_PARENT,
        description="The most characters of the section that parent_child_query returns, at least "
        "child_chunk_size.",
    )
    child_chunk_size: int = Field(
        default=_DEFAULT.target_characters,
        ge=MIN_CHARACTERS,
        le=MAX_CHARACTERS,
        description="Characters of a chunk that is searched. A chunk has at most twice as many.",
    )
    child_chunk_overlap: int = Field(
        default=_DEFAULT.overlap_characters,
        ge=0,
        le=MAX_CHARACTERS // 2,
        description="What a chunk repeats of the one before, at most half of child_chunk_size.",
    )

    def splitting(self) -> pb.AttachFileRequest:
        """Return the fields of a request that say how files are split.

        Raises:
            InvalidRequestError: The sizes do not fit together.
        """
        if not self.model_fields_set:
            return pb.AttachFileRequest()
        if self.parent_chunk_size < self.child_chunk_size:
            raise invalid(f"{PATH}.parent_chunk_size", "must be at least child_chunk_size")
        chunking = _chunking(self.child_chunk_size, self.child_chunk_overlap, "child_chunk_overlap")
        chunking.parent_characters = self.parent_chunk_size
        return pb.AttachFileRequest(chunking=chunking)


def read_parameters(model: type[Parameters], values: Mapping[str, Any]) -> Parameters:
    """Return the parameters of a plugin.

    Raises:
        InvalidRequestError: Names a parameter that the plugin does not have, or its wrong value.
    """
    members = {
        name: value
        for name, value in values.items()
        if value not in (None, "") and name not in model.IGNORED
    }
    for name in model.FIXED.keys() & members:
        fixed = model.FIXED[name]
        if members.pop(name) != fixed.value:
            text = str(fixed.value).lower() if isinstance(fixed.value, bool) else repr(fixed.value)
            raise invalid(f"{PATH}.{name}", f"must be {text}: {fixed.reason}")
    unknown = [name for name in members if name not in model.model_fields]
    if unknown:
        known = ", ".join(model.model_fields)
        raise invalid(f"{PATH}.{unknown[0][:80]}", f"is no parameter of the plugin; it has {known}")
    return validate(model, members, f"The member of {PATH}", strict=False)


def _chunking(target: int, overlap: int, name: str) -> Chunking:
    if 2 * overlap > target:
        raise invalid(f"{PATH}.{name}", "must be at most half of the size of a chunk")
    # LAMB's forms allow an overlap of half a chunk; the contract allows one character less.
    overlap = min(overlap, target // 2 - 1)
    return Chunking(target_characters=target, overlap_characters=overlap)
