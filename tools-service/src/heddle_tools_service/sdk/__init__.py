"""What the author of a tool imports. `tools/word_count.py` is the smallest example.

A tool is one function with the `tool` decorator. It takes a `ToolCall` and returns a `ToolResult`,
or raises `ToolError`. The function is async, or an ordinary one, which then runs in a thread; only
an async one can use the client, the knowledge bases, the files, the workspace, the rubrics and the
small model.

An async function can also yield, as it goes on, and only these: `Status`, `Result`, `Error` and
`Response`. What it yields becomes one result. Its text is that of the responses; without one it is
made of the objects that were found. Errors are warnings if anything else was yielded, and else the
last of them is the tool's. Each of the four has `to_frontend(query_id)`, the form in which clients
get what comes out of the routing agent.

One tool can be bound in several modes: `augment`, to fill a slot before the model answers,
`function`, where the model calls it, and `agent`, where the routing agent chooses it among others.
What the model or the agent sends is `ToolCall.query`, or what the tool's own `arguments` say. For
the agent, give the tool `examples`, and its result `objects`.
"""

from heddle_knowledge.document_queries.records import Column, Rows, Table
from heddle_knowledge.records import AllOf, AnyOf, Comparison, Filter
from heddle_runtime.frontend_payloads import Error, Response, Result, Status, ToolOutput

from heddle_tools_service.lms import Assignment, Assignments, Course, Moodle
from heddle_tools_service.models import (
    SCHEMA_DIALECT,
    NoArguments,
    NoOptions,
    Query,
    ToolArguments,
    ToolConfig,
)
from heddle_tools_service.remote_servers import (
    RemoteAnswer,
    RemoteServer,
    RemoteServers,
    RemoteSession,
    RemoteTool,
)
from heddle_tools_service.routing import (
    Environment,
    Example,
    FailedTool,
    Found,
    PastRun,
    TreeData,
    Trigger,
)
from heddle_tools_service.sdk.calls import Mode, Occasion, ToolCall
from heddle_tools_service.sdk.definition import Tool, tool
from heddle_tools_service.sdk.functions import CalledFunction, Function, HeldBack, Offered
from heddle_tools_service.sdk.results import Source, ToolError, ToolResult, ToolUnavailableError
from heddle_tools_service.surroundings import (
    NO_OPTIONS,
    Assistant,
    Caller,
    Catalogue,
    EarlierResult,
    FailedSearch,
    FileChange,
    Files,
    FileText,
    Findings,
    FoundPage,
    FoundPages,
    Graph,
    GraphFindings,
    Interpretation,
    Knowledge,
    Link,
    Mentions,
    OpenCatalogue,
    Pages,
    Passage,
    Rubric,
    Rubrics,
    SearchOptions,
    Tell,
    Theme,
    Web,
    WebAnswer,
    WebResult,
    Workspace,
)
from heddle_tools_service.weather import CurrentWeather, Weather
from heddle_tools_service.workspace.shapes import (
    ChangedFile,
    Edit,
    Entry,
    FileEdits,
    FileQuery,
    Listing,
    Matches,
    Page,
    Patched,
)

__all__ = [
    "NO_OPTIONS",
    "SCHEMA_DIALECT",
    "AllOf",
    "AnyOf",
    "Assignment",
    "Assignments",
    "Assistant",
    "CalledFunction",
    "Caller",
    "Catalogue",
    "ChangedFile",
    "Column",
    "Comparison",
    "Course",
    "CurrentWeather",
    "EarlierResult",
    "Edit",
    "Entry",
    "Environment",
    "Error",
    "Example",
    "FailedSearch",
    "FailedTool",
    "FileChange",
    "FileEdits",
    "FileQuery",
    "FileText",
    "Files",
    "Filter",
    "Findings",
    "Found",
    "FoundPage",
    "FoundPages",
    "Function",
    "Graph",
    "GraphFindings",
    "HeldBack",
    "Interpretation",
    "Knowledge",
    "Link",
    "Listing",
    "Matches",
    "Mentions",
    "Mode",
    "Moodle",
    "NoArguments",
    "NoOptions",
    "Occasion",
    "Offered",
    "OpenCatalogue",
    "Page",
    "Pages",
    "Passage",
    "PastRun",
    "Patched",
    "Query",
    "RemoteAnswer",
    "RemoteServer",
    "RemoteServers",
    "RemoteSession",
    "RemoteTool",
    "Response",
    "Result",
    "Rows",
    "Rubric",
    "Rubrics",
    "SearchOptions",
    "Source",
    "Status",
    "Table",
    "Tell",
    "Theme",
    "Tool",
    "ToolArguments",
    "ToolCall",
    "ToolConfig",
    "ToolError",
    "ToolOutput",
    "ToolResult",
    "ToolUnavailableError",
    "TreeData",
    "Trigger",
    "Weather",
    "Web",
    "WebAnswer",
    "WebResult",
    "Workspace",
    "tool",
]
