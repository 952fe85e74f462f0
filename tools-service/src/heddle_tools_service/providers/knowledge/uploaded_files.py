"""Files that people upload to the knowledge service."""

from dataclasses import dataclass

from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1.files_pb2_grpc import FileServiceAsyncStub

from heddle_tools_service.capabilities.files import FileText
from heddle_tools_service.providers.knowledge.client import NOT_FOUND, KnowledgeClient
from heddle_tools_service.sdk import ToolError, ToolUnavailableError


@dataclass(frozen=True, slots=True)
class UploadedFiles:
    """The files of the owner of an assistant."""

    service: FileServiceAsyncStub
    client: KnowledgeClient

    async def read(self, identifier: str, max_chars: int) -> FileText:
        """Return the beginning of the text of a file, as `Files.read` says."""
        request = pb.GetFileTextRequest(id=identifier, max_characters=max_chars)
        try:
            response = await self.client.ask(self.service.GetFileText, request)
        except ToolUnavailableError:
            raise
        except ToolError as error:
            if error.kind == NOT_FOUND:
                raise ToolError(
                    f"File not found: {identifier}. It is deleted, or the owner of the assistant "
                    "has not uploaded it.",
                    kind=NOT_FOUND,
                ) from error
            raise ToolError(f"Failed to read file: {error}", kind=error.kind) from error
        return FileText(response.file.filename, response.text, response.truncated)
