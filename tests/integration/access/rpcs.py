"""What each RPC that takes an identifier answers, to whom. New RPCs belong here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.duration_pb2 import Duration
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2, jobs_pb2, rows_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.migration.v1 import record_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.person.v1 import person_pb2
from heddle.rubric.v1 import rubric_pb2
from heddle.tool.v1 import tool_pb2
from heddle.usage.v1 import usage_pb2
from heddle_runtime.contract.struct_codec import to_struct
from integration.access.deployments import OWNER
from integration.access.outcomes import (
    ALL,
    ATTACH,
    AUDIT,
    CHANGE,
    CHANGE_SHARED,
    CREATORS,
    DESCRIBE,
    LIST,
    LIST_OWN,
    LIST_UPLOADED,
    MANAGED,
    NOT_FOUND,
    OWN,
    PROMPT,
    READ,
    REFUSED,
    RUN,
    UPLOADED,
    WITHOUT_RIGHT,
    Outcomes,
    elsewhere,
    shared,
)
from integration.access.things import BYPASS, Things, rubric_text, unique

Fields = Callable[[Any], dict[str, Any]]
MODEL = assistant_pb2.ModelRef(**BYPASS)
QUESTION = chat_pb2.Message(
    role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text="What holds a thread?")]
)
FILTERED = OWN | {
    "other user": "200 without anything",
    **elsewhere("200 without anything"),
}
SEARCH = FILTERED | {"owner": "200 with the content", **shared("200 with the content")}
"""A search reports an error for each collection that the caller may not read."""

TRACED = RUN | dict.fromkeys(("owner", "admin", "operator"), "200 with the prompt")
"""The assistants are verbose: those who may read one get the trace of its run."""
FAILED = SEARCH | {"other user": "failed"} | elsewhere("failed") | WITHOUT_RIGHT
"""The tool fails, as for what does not exist."""


@dataclass(frozen=True)
class Rpc:
    """How to call an RPC with the identifiers of things, and what it answers to whom."""

    outcomes: Outcomes
    fields: Fields


def _id(name: str, field: str = "id") -> Fields:
    return lambda it: {field: getattr(it, name)}


def _assistant(it: Things, **fields: Any) -> assistant_pb2.Assistant:
    return assistant_pb2.Assistant(id=it.assistant, name=unique(), model=MODEL, **fields)


def _of_owner(**fields: Any) -> assistant_pb2.Assistant:
    """Return an assistant that claims to be the owner's."""
    return assistant_pb2.Assistant(
        owner=OWNER.subject, organization=OWNER.organization, model=MODEL, **fields
    )


def _run(it: Things, **fields: Any) -> dict[str, Any]:
    return {
        "assistant_reference": f"lamb_assistant.{it.assistant}",
        "messages": [QUESTION],
        **fields,
    }


def _charged(it: Things) -> dict[str, Any]:
    inline = assistant_pb2.Assistant(model=MODEL, prompt_template="{user_input}")
    return {"assistant": inline, "messages": [QUESTION], "charged_to": it.assistant}


def _whole(run: Fields) -> Fields:
    return lambda it: {"run": orchestrator_pb2.RunCompletionRequest(**run(it))}


def _invocation(it: Things, tool: str) -> tool_pb2.ToolInvocation:
    config: dict[str, Any] = {"rubric_id": it.rubric}
    if tool != "rubric":
        config = {"collections": [_full(it)]}
    return tool_pb2.ToolInvocation(id="1", name=tool, config=to_struct(config))


def _tool(tool: str) -> Fields:
    context = tool_pb2.RunContext(messages=[QUESTION], assistant=_of_owner())
    return lambda it: {"invocation": _invocation(it, tool), "context": context}


def _tools(tool: str) -> Fields:
    context = tool_pb2.RunContext(messages=[QUESTION], assistant=_of_owner())
    return lambda it: {"invocations": [_invocation(it, tool)], "context": context}


def _generation(it: Things) -> dict[str, Any]:
    return {"model": MODEL, "messages": [QUESTION], "assistant": _of_owner(id=it.assistant)}


def _store(**fields: Any) -> Fields:
    return lambda it: {"collection": it.store, **fields}


def _full(it: Things) -> str:
    """Return the store, with the file in it."""
    _ = it.attached
    return it.store


def _attached(**fields: Any) -> Fields:
    return lambda it: {"file_id": it.attached, "collection": it.store, **fields}


def _batch(it: Things) -> dict[str, Any]:
    return {"batch_id": it.batch, "collection": it.store}


def _page(it: Things) -> dict[str, Any]:
    return {"document": it.document, "collection": it.paged, "page": 1}


def _user(_: Things) -> dict[str, Any]:
    return {"organization": "uni", "email": OWNER.subject}


def _document(it: Things) -> dict[str, Any]:
    return {"document": it.document, "collection": it.paged}


def _search(**fields: Any) -> Fields:
    return lambda it: {"collections": [_full(it)], **fields}


def _row(**fields: Any) -> Fields:
    return lambda it: {"id": it.assistant, **fields}


RPCS: dict[str, Rpc] = {
    # Accounts
    "Account.ResolveKey": Rpc(REFUSED, lambda it: {"key": f"hk_{it.key}_x"}),
    "Account.CreateKey": Rpc(
        OWN | {"other user": "403", **shared("403")},
        lambda _: {"key": account_pb2.Key(name="k", organization="uni", user=OWNER.subject)},
    ),
    "Account.ListKeys": Rpc(LIST_OWN, lambda it: {"organization": "uni"} if it.key else {}),
    "Account.RevokeKey": Rpc(OWN, _id("key")),
    "Account.GetOrganization": Rpc(NOT_FOUND, lambda _: {"slug": "uni"}),
    "Account.PutOrganization": Rpc(
        NOT_FOUND,
        lambda _: {"organization": account_pb2.Organization(slug="uni", name="stolen")},
    ),
    "Account.PutUser": Rpc(
        NOT_FOUND, lambda _: {"email": OWNER.subject, "organization": "uni", "disabled": True}
    ),
    "Account.GetUser": Rpc(NOT_FOUND, _user),
    "Account.ListUsers": Rpc(NOT_FOUND, lambda _: {"organization": "uni"}),
    "Account.DeleteUser": Rpc(NOT_FOUND, _user),
    "Person.ListPersonalData": Rpc(NOT_FOUND, _user),
    "Person.ExportPersonalData": Rpc(NOT_FOUND, _user),
    "Person.ErasePersonalData": Rpc(
        NOT_FOUND, lambda it: {**_user(it), "shared_things": person_pb2.SHARED_THINGS_DELETE}
    ),
    "Account.SignIn": Rpc(REFUSED, lambda _: {"email": OWNER.subject, "password": "x"}),
    "Account.GetSetup": Rpc(REFUSED, lambda _: {}),
    "Account.CreateFirstOperator": Rpc(
        REFUSED, lambda _: {"email": "first@uni.example", "password": "x" * 12, "secret": "x"}
    ),
    "Account.SignInWithProvider": Rpc(
        REFUSED, lambda _: {"email": OWNER.subject, "provider": "sso"}
    ),
    "Account.ResolveSession": Rpc(REFUSED, lambda it: {"token": f"hs_{it.key}_x"}),
    "Account.SwitchSession": Rpc(
        REFUSED, lambda it: {"token": f"hs_{it.key}_x", "organization": "uni"}
    ),
    "Account.EndSession": Rpc(REFUSED, lambda it: {"token": f"hs_{it.key}_x"}),
    "Account.SetPassword": Rpc(
        NOT_FOUND, lambda _: {"email": OWNER.subject, "organization": "uni", "password": ""}
    ),
    "Account.ListMemberships": Rpc(REFUSED, lambda _: {"email": OWNER.subject}),
    "Account.PutExtensionText": Rpc(REFUSED, lambda _: {"name": "lti:x", "text": "x"}),
    "Account.GetExtensionText": Rpc(REFUSED, lambda _: {"name": "lti:x"}),
    "Account.ResolveUser": Rpc(REFUSED, lambda _: {"email": OWNER.subject, "organization": "uni"}),
    "Account.ResolveUserNumber": Rpc(REFUSED, lambda _: {"number": 1}),
    "Account.ResolveSettings": Rpc(REFUSED, lambda _: {"organization": "uni"}),
    "Account.ResolveCollections": Rpc(REFUSED, lambda it: {"ids": [it.store]}),
    "Account.ListRetention": Rpc(REFUSED, lambda _: {}),
    # Assistants
    "Assistant.GetAssistant": Rpc(DESCRIBE, _id("assistant", "reference")),
    "Assistant.GetAssistant for a user": Rpc(
        REFUSED,
        lambda it: {
            "reference": it.assistant,
            "user": assistant_pb2.User(subject=OWNER.subject, organization="uni"),
        },
    ),
    "Assistant.ListAssistants": Rpc(LIST, lambda it: {"page_size": 1000, "text": it.assistant[:0]}),
    "Assistant.ListAssistants managed": Rpc(
        LIST_OWN,
        lambda it: {
            "page_size": 1000,
            "text": it.assistant[:0],
            "selection": assistant_pb2.SELECTION_MANAGED,
        },
    ),
    "Assistant.CreateAssistant": Rpc(
        REFUSED | {"owner": "200", "admin": "200"},
        lambda _: {"assistant": _of_owner(name=unique())},
    ),
    "Assistant.UpdateAssistant": Rpc(CHANGE, lambda it: {"assistant": _assistant(it)}),
    "Assistant.DeleteAssistant": Rpc(CHANGE, _id("assistant")),
    "Assistant.UndeleteAssistant": Rpc(CHANGE, _id("assistant")),
    "Assistant.ListUsedFiles": Rpc(REFUSED, lambda it: {"ids": [it.file]}),
    "Assistant.UseConfirmation": Rpc(REFUSED, _id("assistant")),
    "Assistant.PublishAssistant": Rpc(CHANGE, _id("assistant")),
    "Question.GetQuestions": Rpc(MANAGED, _id("assistant")),
    "Question.UpdateQuestions": Rpc(CHANGE, _id("assistant")),
    "Sharing.GetSharing": Rpc(MANAGED, _id("assistant")),
    "Sharing.UpdateSharing": Rpc(CHANGE, lambda it: {"id": it.assistant, "sharing": {}}),
    "Sharing.TransferAssistant": Rpc(
        CHANGE, lambda it: {"id": it.assistant, "owner": OWNER.subject}
    ),
    "Version.ListVersions": Rpc(MANAGED, _id("assistant")),
    "Version.GetVersion": Rpc(PROMPT, lambda it: {"id": it.assistant, "number": 1}),
    "Version.CompareVersions": Rpc(MANAGED, lambda it: {"id": it.assistant, "from_number": 1}),
    "Version.RestoreVersion": Rpc(CHANGE, lambda it: {"id": it.assistant, "number": 1}),
    "Row.GetRow": Rpc(DESCRIBE, _row()),
    "Row.GetRow as stored": Rpc(MANAGED, _row(as_stored=True)),
    "Row.GetRow to change": Rpc(MANAGED, _row(to_change=True)),
    "Row.ListRows": Rpc(LIST_OWN, lambda it: {"skip": len(it.assistant[:0])}),
    "Row.CreateRow": Rpc(
        REFUSED | {"owner": "200", "admin": "200"},
        lambda _: {
            "row": rows_pb2.AssistantRow(
                name=unique(), owner=OWNER.subject, metadata='{"_format_version": 2}'
            )
        },
    ),
    "Row.UpdateRow": Rpc(
        CHANGE,
        lambda it: {
            "row": rows_pb2.AssistantRow(id=it.assistant, description="stolen"),
            "etag": it.etag,
        },
    ),
    "RowBatch.ConvertRows": Rpc(REFUSED, lambda it: {"ids": [int(it.assistant)]}),
    "RowBatch.ImportRows": Rpc(
        REFUSED,
        lambda it: {"rows": rows_pb2.RowBatch(assistants=[rows_pb2.AssistantRow(id=it.assistant)])},
    ),
    "Record.GetRecord": Rpc(DESCRIBE, _row()),
    "Record.ListRecords": Rpc(LIST_OWN, lambda it: {"skip": len(it.assistant[:0])}),
    "Record.CreateRecord": Rpc(
        REFUSED | {"owner": "200", "admin": "200"},
        lambda _: {
            "record": record_pb2.Record(
                name=unique(),
                owner=OWNER.subject,
                metadata_json='{"connector": "bypass", "llm": "simple-bypass"}',
            )
        },
    ),
    "Record.UpdateRecord": Rpc(CHANGE, _row(record=record_pb2.Record(description="stolen"))),
    "Migration.ConvertAssistant": Rpc(REFUSED, _id("assistant")),
    "Migration.RunMigration": Rpc(
        REFUSED, lambda it: {"kind": jobs_pb2.JOB_KIND_SWEEP, "ids": [it.assistant]}
    ),
    "Migration.RunJobs": Rpc(REFUSED, lambda _: {}),
    "Following.ClaimFollowing": Rpc(REFUSED, lambda _: {"claimant": "c"}),
    "Following.ListFollowedRows": Rpc(REFUSED, lambda _: {"table": 3}),
    "Following.FollowRows": Rpc(REFUSED, lambda _: {"claimant": "c", "table": 3, "origin": "LAMB"}),
    "Following.GetFollowing": Rpc(REFUSED, lambda _: {}),
    "Job.StartJob": Rpc(REFUSED, lambda _: {"kind": jobs_pb2.JOB_KIND_SWEEP}),
    "Job.GetJob": Rpc(REFUSED, lambda _: {"id": "1"}),
    "Job.ListJobs": Rpc(REFUSED, lambda _: {}),
    "Job.ListJobFindings": Rpc(REFUSED, lambda _: {"id": "1"}),
    "Job.StopJob": Rpc(REFUSED, lambda _: {"id": "1"}),
    "Job.ContinueJob": Rpc(REFUSED, lambda _: {"id": "1"}),
    "Job.ClaimJob": Rpc(REFUSED, lambda _: {"claimant": "c"}),
    "Job.ReportJob": Rpc(REFUSED, lambda _: {"id": "1", "claimant": "c"}),
    # Usage and rubrics
    "Usage.RecordUsage": Rpc(
        REFUSED,
        lambda it: {
            "recorder": "r",
            "entries": [
                usage_pb2.UsageEntry(
                    number=1,
                    assistant_id=it.assistant,
                    model=MODEL,
                    counts=usage_pb2.Counts(requests=1),
                )
            ],
        },
    ),
    "Usage.ReserveUsage": Rpc(
        REFUSED,
        lambda it: {
            "reservation_id": "r",
            "assistant_id": it.assistant,
            "model": MODEL,
            "lifetime": Duration(seconds=1),
        },
    ),
    "Usage.GetPrice": Rpc(REFUSED, lambda _: {"model": MODEL, "organization": "uni"}),
    "Usage.GetUsage": Rpc(MANAGED, _id("assistant")),
    "Usage.ListUsage": Rpc(LIST_OWN, lambda it: {"organization": "uni"} if it.assistant else {}),
    "Usage.SummarizeUsage": Rpc(ALL, _id("assistant", "assistant_id")),
    "Usage.ListPrices": Rpc(NOT_FOUND, lambda _: {"organization": "uni"}),
    "Usage.PutPrices": Rpc(NOT_FOUND, lambda _: {"organization": "uni"}),
    "Usage.SetQuota": Rpc(CHANGE, _id("assistant")),
    "Usage.ResetUsage": Rpc(NOT_FOUND, _id("assistant")),
    # Audit log
    "Audit.ListAuditEvents": Rpc(
        AUDIT, lambda it: {"object_type": "assistant", "object_id": it.assistant}
    ),
    "Audit.VerifyAuditEvents": Rpc(
        REFUSED,
        lambda it: {"known": {"number": 1, "digest": it.assistant}},
    ),
    "Audit.RecordAuditEvents": Rpc(
        REFUSED,
        lambda it: {
            "recorder": "r",
            "events": [{"number": 1, "event": {"action": "file.delete", "object_id": it.file}}],
        },
    ),
    "Rubric.GetRubric": Rpc(READ, _id("rubric")),
    "Rubric.GetRubric on behalf of the owner": Rpc(
        REFUSED,
        lambda it: {
            "id": it.rubric,
            "on_behalf_of": rubric_pb2.AssistantOwner(owner=OWNER.subject, organization="uni"),
        },
    ),
    "Rubric.ListRubrics": Rpc(LIST, lambda _: {}),
    "Rubric.CreateRubric": Rpc(
        REFUSED | {"owner": "200", "admin": "200"},
        lambda _: {"rubric": rubric_pb2.Rubric(owner=OWNER.subject, content_json=rubric_text())},
    ),
    "Rubric.UpdateRubric": Rpc(
        CHANGE,
        lambda it: {"rubric": rubric_pb2.Rubric(id=it.rubric, content_json=rubric_text())},
    ),
    "Rubric.DeleteRubric": Rpc(CHANGE, _id("rubric")),
    "Prompt.GetPrompt": Rpc(READ | WITHOUT_RIGHT, _id("saved_prompt")),
    "Prompt.ListPrompts": Rpc(LIST | WITHOUT_RIGHT, lambda _: {}),
    "Prompt.CreatePrompt": Rpc(CREATORS, lambda _: {"prompt": {"title": "Tutor"}}),
    "Prompt.UpdatePrompt": Rpc(
        CHANGE, lambda it: {"prompt": {"id": it.saved_prompt, "title": "Tutor"}}
    ),
    "Prompt.DeletePrompt": Rpc(CHANGE, _id("saved_prompt")),
    # Responses and conversations
    "Conversation.CreateConversation": Rpc(ALL, lambda _: {}),
    "Conversation.GetConversation": Rpc(UPLOADED, _id("conversation")),
    "Conversation.ListConversations": Rpc(LIST_UPLOADED, lambda it: {"text": it.content}),
    "Conversation.UpdateConversation": Rpc(UPLOADED, _id("conversation")),
    "Conversation.DeleteConversation": Rpc(UPLOADED, _id("conversation")),
    "Conversation.CreateItems": Rpc(
        UPLOADED,
        lambda it: {
            "conversation": it.conversation,
            "items": [{"id": unique(), "document_json": "{}"}],
        },
    ),
    "Conversation.ListItems": Rpc(UPLOADED, _id("conversation", "conversation")),
    "Conversation.ListItems of a response": Rpc(UPLOADED, _id("response", "response")),
    "Conversation.DeleteItem": Rpc(
        UPLOADED, lambda it: {"conversation": it.conversation, "id": it.item}
    ),
    "Conversation.UpdateFeedback": Rpc(
        UPLOADED, lambda it: {"conversation": it.conversation, "id": it.item}
    ),
    "Conversation.GetContext": Rpc(UPLOADED, _id("conversation", "conversation")),
    "Conversation.GetContext of a response": Rpc(UPLOADED, _id("response", "response")),
    "Conversation.GetContext of an item": Rpc(LIST_UPLOADED, lambda it: {"ids": [it.item]}),
    "Conversation.PutResponse": Rpc(
        UPLOADED,
        lambda it: {
            "response": {
                "id": unique(),
                "document_json": "{}",
                "status": "completed",
                "conversation": it.conversation,
            }
        },
    ),
    "Conversation.GetResponse": Rpc(UPLOADED, _id("response")),
    "Conversation.DeleteResponse": Rpc(UPLOADED, _id("response")),
    # Batches
    "Batch.CreateBatch": Rpc(
        ALL, lambda _: {"batch": {"id": unique(), "document_json": "{}", "status": "failed"}}
    ),
    "Batch.GetBatch": Rpc(UPLOADED, _id("request_batch")),
    "Batch.ListBatches": Rpc(LIST_UPLOADED, lambda it: {"limit": 100} if it.request_batch else {}),
    "Batch.CancelBatch": Rpc(UPLOADED, _id("request_batch")),
    "Batch.ClaimBatch": Rpc(REFUSED, lambda _: {"claimant": "c"}),
    "Batch.ReportBatch": Rpc(
        UPLOADED | {"owner": "400"},
        lambda it: {"id": it.request_batch, "claimant": "c", "results": [{"line": 9}]},
    ),
    "Batch.ListBatchResults": Rpc(UPLOADED, _id("request_batch")),
    # Groups
    "Group.CreateGroup": Rpc(
        CREATORS, lambda _: {"group": {"title": "Biology", "teachers": [OWNER.subject]}}
    ),
    "Group.GetGroup": Rpc(MANAGED, _id("group")),
    "Group.ListGroups": Rpc(LIST_OWN | {"admin": "200"}, lambda it: {"page_size": len(it.group)}),
    "Group.UpdateGroup": Rpc(
        MANAGED | WITHOUT_RIGHT,
        lambda it: {"group": {"id": it.group, "title": "Stolen", "teachers": [OWNER.subject]}},
    ),
    "Group.DeleteGroup": Rpc(MANAGED | WITHOUT_RIGHT, _id("group")),
    "Group.ListMembers": Rpc(MANAGED | WITHOUT_RIGHT, _id("group")),
    "Group.AddMembers": Rpc(
        MANAGED | WITHOUT_RIGHT, lambda it: {"id": it.group, "emails": ["new@uni.example"]}
    ),
    "Group.RemoveMember": Rpc(MANAGED, lambda it: {"group": it.group, "email": "new@uni.example"}),
    "Group.CreateJoiningCode": Rpc(MANAGED | WITHOUT_RIGHT, _id("group")),
    "Group.DeleteJoiningCode": Rpc(MANAGED | WITHOUT_RIGHT, _id("group")),
    "Group.JoinGroup": Rpc(
        UPLOADED | {"owner": "404", "operator": "403"}, lambda it: {"code": it.group[:9]}
    ),
    "Insight.SummarizeQuestions of a group": Rpc(
        MANAGED | WITHOUT_RIGHT, lambda it: {"group": it.group}
    ),
    "Insight.SummarizeQuestions of an assistant": Rpc(
        MANAGED | WITHOUT_RIGHT, lambda it: {"assistant": it.assistant}
    ),
    "Insight.ListQuestions of a group": Rpc(
        MANAGED | WITHOUT_RIGHT, lambda it: {"group": it.group}
    ),
    "Insight.ListQuestions of an assistant": Rpc(
        MANAGED | WITHOUT_RIGHT, lambda it: {"assistant": it.assistant}
    ),
    # Runs
    "Orchestrator.RunCompletion": Rpc(TRACED, _run),
    "Orchestrator.RunCompletion with a trace": Rpc(
        PROMPT | shared("403"),
        lambda it: _run(it, include_trace=True),
    ),
    "Orchestrator.RunCompletion charged to an assistant": Rpc(READ | WITHOUT_RIGHT, _charged),
    "Orchestrator.RunWholeCompletion": Rpc(TRACED, _whole(_run)),
    "Orchestrator.RunWholeCompletion with a trace": Rpc(
        PROMPT | shared("403"),
        _whole(lambda it: _run(it, include_trace=True)),
    ),
    "Orchestrator.RunWholeCompletion charged to an assistant": Rpc(
        READ | WITHOUT_RIGHT, _whole(_charged)
    ),
    "Connector.GenerateMessage": Rpc(CREATORS, _generation),
    "Connector.GenerateWholeMessage": Rpc(
        CREATORS, lambda it: {"generation": connector_pb2.GenerateMessageRequest(**_generation(it))}
    ),
    "Connector.GetGeneratedImage": Rpc(UPLOADED, _id("picture", "name")),
    "Connector.ListModels": Rpc(ALL, lambda _: {"connector": "bypass"}),
    "Tool.GetTool": Rpc(ALL, lambda _: {"name": "rubric"}),
    "Tool.ValidateToolConfig": Rpc(ALL, lambda _: {"name": "rubric"}),
    "Tool.BatchValidateToolConfigs": Rpc(ALL, lambda _: {"requests": [{"name": "rubric"}]}),
    "Orchestrator.ValidateAssistant": Rpc(
        ALL, lambda it: {"assistant": assistant_pb2.Assistant(id=it.assistant)}
    ),
    "Orchestrator.CheckTemplate": Rpc(
        ALL, lambda it: {"assistant": assistant_pb2.Assistant(id=it.assistant)}
    ),
    "Orchestrator.BatchValidateAssistants": Rpc(
        ALL, lambda it: {"requests": [{"assistant": assistant_pb2.Assistant(id=it.assistant)}]}
    ),
    "Tool.ListFunctions": Rpc(
        CREATORS,
        lambda it: {"invocations": [_invocation(it, "simple_rag")], "assistant": _of_owner()},
    ),
    "Tool.InspectMcpServer": Rpc(
        NOT_FOUND, lambda _: {"organization": "uni", "url": "https://mcp.example/mcp"}
    ),
    "Connector.CheckProvider": Rpc(
        NOT_FOUND, lambda _: {"organization": "uni", "connector": "openai"}
    ),
    "Tool.AssessTools": Rpc(CREATORS, _tools("simple_rag")),
    "Tool.ExecuteTool simple_rag": Rpc(FAILED, _tool("simple_rag")),
    "Tool.ExecuteTools simple_rag": Rpc(SEARCH | WITHOUT_RIGHT, _tools("simple_rag")),
    "Tool.ExecuteTool rubric": Rpc(FAILED, _tool("rubric")),
    "Tool.ExecuteTools rubric": Rpc(SEARCH | WITHOUT_RIGHT, _tools("rubric")),
    # Files
    "File.GetFile": Rpc(UPLOADED, _id("file")),
    "File.ListFiles": Rpc(LIST_UPLOADED, lambda it: {"page_size": 200} if it.file else {}),
    "File.GetFileContent": Rpc(UPLOADED, _id("file")),
    "File.GetFileContent of a collection": Rpc(
        READ, lambda it: {"collection": it.store, "id": it.attached}
    ),
    "File.GetFileText": Rpc(UPLOADED, _id("file")),
    "File.GetFileText of a file in it": Rpc(ALL, lambda _: {"data": b"A", "filename": "a.txt"}),
    "File.DeleteFile": Rpc(UPLOADED, _id("file")),
    "File.AttachFile": Rpc(ATTACH, lambda it: {"collection": it.store, "file_id": it.file}),
    "File.GetAttachedFile": Rpc(READ, _attached()),
    "File.ListAttachedFiles": Rpc(READ, lambda it: {"collection": _full(it)}),
    "File.UpdateAttachedFile": Rpc(
        CHANGE_SHARED, _attached(attributes=to_struct({"stolen": "yes"}))
    ),
    "File.CancelAttachedFile": Rpc(CHANGE_SHARED, _attached()),
    "File.RetryAttachedFile": Rpc(CHANGE_SHARED, _attached()),
    "File.DetachFile": Rpc(CHANGE_SHARED, _attached()),
    "File.CreateFileBatch": Rpc(
        ATTACH,
        lambda it: {
            "collection": it.store,
            "files": [files_pb2.BatchedFile(file_id=it.file)],
        },
    ),
    "File.GetFileBatch": Rpc(READ, _batch),
    "File.CancelFileBatch": Rpc(CHANGE_SHARED, _batch),
    "File.ListFileBatchFiles": Rpc(READ, _batch),
    "File.CreateFile": Rpc(
        CREATORS, lambda _: {"filename": "a.txt", "data": b"A shed.", "purpose": "assistants"}
    ),
    # Knowledge
    "Knowledge.CreateCollection": Rpc(
        CREATORS, lambda _: {"collection": knowledge_pb2.Collection(name=unique())}
    ),
    "Knowledge.GetCollection": Rpc(READ, _id("store", "name")),
    "Knowledge.ListCollections": Rpc(LIST, lambda it: {"page_size": 200} if it.store else {}),
    "Knowledge.UpdateCollection": Rpc(
        CHANGE_SHARED, lambda it: {"name": it.store, "title": "stolen"}
    ),
    "Knowledge.GetCollectionStatistics": Rpc(READ, _store()),
    "Knowledge.DeleteCollection": Rpc(CHANGE_SHARED, _id("store", "name")),
    "Knowledge.IngestDocument": Rpc(CHANGE_SHARED, _store(name="stolen.txt", data=b"A shed.")),
    "Knowledge.GetDocument": Rpc(READ, lambda it: {"name": it.document, "collection": it.paged}),
    "Knowledge.ListPassages": Rpc(READ, _document),
    "Knowledge.ListDocuments": Rpc(READ, lambda it: {"collection": _full(it)}),
    "Knowledge.DeleteDocument": Rpc(
        CHANGE_SHARED, lambda it: {"name": it.document, "collection": it.paged}
    ),
    "Knowledge.SearchCollections": Rpc(SEARCH, _search(query="What holds a thread?")),
    "Knowledge.SearchPages": Rpc(
        FILTERED | {**shared("200")},
        lambda it: {"collections": [it.paged] if it.document else [], "query": "a shed"},
    ),
    "Knowledge.ListPages": Rpc(READ, _document),
    "Knowledge.GetPage": Rpc(READ, _page),
    "Knowledge.InterpretPage": Rpc(
        READ | WITHOUT_RIGHT, lambda it: {**_page(it), "prompt": "What is this?"}
    ),
    "Knowledge.GetPagePicture": Rpc(READ, _page),
    "Knowledge.ListGraphThemes": Rpc(FILTERED | {**shared("200")}, _search(query="thread")),
    "Knowledge.FindGraphPaths": Rpc(
        FILTERED | {**shared("200")}, _search(start="Thread", end="Shed")
    ),
    "Knowledge.DescribeDocuments": Rpc(FILTERED | {**shared("200")}, _search()),
    "Knowledge.QueryDocuments": Rpc(
        FILTERED | {**shared("200")}, _search(sql="SELECT * FROM documents")
    ),
    "Knowledge.EmbedTexts": Rpc(
        CREATORS, lambda _: {"texts": ["a"], "kind": knowledge_pb2.EMBEDDING_KIND_QUERY}
    ),
    "Health.GetHealth": Rpc(REFUSED, lambda _: {}),
}
"""By `Service.Method`, perhaps with words after it that tell several ways of calling apart."""

NO_IDENTIFIER = {
    "Account.ListOrganizations",
    "Knowledge.GetCollectionOptions",
    *("Connector.ListConnectors", "Tool.ListTools"),
    *("Orchestrator.ListStrategies", "Orchestrator.ListPromptProcessors"),
}
"""RPCs that name no thing of a user: they create things of the caller or describe Heddle."""
