"""The fields of assistants that lists show."""

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import newest, parse, version_of
from heddle_conversion.contract import connector_of, texts
from heddle_conversion.contract_tools import text
from heddle_conversion.identifiers import timestamp
from heddle_runtime.errors import MalformedAssistantError

from heddle_assistants.database.assistant_row import Row
from heddle_assistants.store import StoredAssistant
from heddle_assistants.validation import messages

_LARGEST_VERSION = 2**31 - 1
_COLUMNS = ("name", "description", "owner", "organization", "system_prompt", "prompt_template")
_OUTLINE = (
    *("id", "name", "title", "description", "owner", "organization"),
    *("icon", "starter_questions"),
)


def outline(assistant: pb.Assistant) -> pb.Assistant:
    """Return the fields of an assistant that a list shows."""
    return pb.Assistant(
        **{name: getattr(assistant, name) for name in _OUTLINE},
        capabilities=assistant.capabilities,
        create_time=assistant.create_time,
    )


def malformed(row: Row, error: MalformedAssistantError) -> pb.GetAssistantResponse:
    """Return the readable parts of an assistant whose metadata is malformed."""
    assistant = pb.Assistant(id=str(row.id), create_time=timestamp(row.created_at))
    for name in _COLUMNS:
        setattr(assistant, name, text(getattr(row, name)))
    return pb.GetAssistantResponse(
        assistant=assistant,
        etag=row.etag,
        published=row.published,
        malformed_metadata=text(row.metadata),
        readable=True,
        warnings=messages(error.violations),
    )


def summary_of_stored(stored: StoredAssistant) -> pb.AssistantSummary:
    """Return the summary of an assistant of the folder."""
    assistant = stored.assistant
    return pb.AssistantSummary(
        id=assistant.id,
        name=assistant.name,
        title=assistant.title or assistant.name,
        description=assistant.description,
        capabilities=assistant.capabilities,
        create_time=assistant.create_time,
        owner=assistant.owner,
        organization=assistant.organization,
        published=stored.published,
        format_version=newest(),
        icon=assistant.icon,
        starter_questions=assistant.starter_questions,
        connector=assistant.model.connector,
    )


def summary_of_row(row: Row) -> pb.AssistantSummary:
    """Return the summary of a row, without migrating it."""
    try:
        document = parse(row.metadata)
        version = version_of(document)
    except MalformedAssistantError:
        document, version = {}, 0
    capabilities = document.get("capabilities")
    able = capabilities if isinstance(capabilities, dict) else {}
    return pb.AssistantSummary(
        id=str(row.id),
        name=row.name,
        title=text(document.get("title")) or row.name,
        description=row.description or "",
        capabilities=pb.Capabilities(
            vision=able.get("vision") is True,
            image_generation=able.get("image_generation") is True,
        ),
        create_time=timestamp(row.created_at),
        owner=row.owner,
        organization=row.organization,
        published=row.published,
        format_version=min(version, _LARGEST_VERSION),
        icon=text(document.get("icon")),
        starter_questions=texts(document.get("starter_questions")),
        connector=connector_of(document),
    )
