"""The SDK for authors of tools. `tools/word_count.py` is the smallest example.

A tool is one function with the `tool` decorator. Its first parameter is the `ToolCall`; each
further parameter requests a capability by its type, a class of a module of
`heddle_tools_service.capabilities`, or `httpx.AsyncClient` for requests to other servers (the
client follows no redirects and stores no cookies):

    async def search(call: ToolCall[SearchConfig], passages: Passages) -> ToolResult: ...

A tool of a folder or a package runs in a process without other files, network and secrets; only
capabilities and requests of `httpx` leave it. Its global variables are lost when it is replaced.

The function returns a `ToolResult` or raises `ToolError`. It is async, or an ordinary function,
which runs in a thread. The methods of the capabilities are async, so only an async function can
use them. `available`, `offer` and `trigger` request capabilities in the same way.

An async function can also yield `Status`, `Result`, `Error` and `Response`, and nothing else. The
yielded objects become one result: its text is that of the responses, or, without a response, is
built from the objects of the results. Errors become warnings if anything else was yielded;
otherwise the last error is the tool's failure. Each of the four has `to_frontend(query_id)`, the
form in which clients receive the routing agent's events.

A tool can be bound in several modes: `augment` fills a slot before the model answers, `function`
lets the model call the tool, and `agent` lets the routing agent choose it. `ToolCall.query` or the
tool's own `arguments` hold what the model or the agent sends. For the agent, give the tool
`examples` and its result `objects`.
"""

from heddle_runtime.contract.conversations import own_words
from heddle_runtime.contract.frontend_payloads import Error, Response, Result, Status, ToolOutput

from heddle_tools_service.sdk.calls import (
    Assistant,
    Caller,
    EarlierResult,
    Effect,
    FileChange,
    Mode,
    OfferContext,
    ReportStatus,
    ToolCall,
)
from heddle_tools_service.sdk.definition import (
    CalledFunction,
    Function,
    FunctionOffer,
    HeldBackFunction,
    Tool,
    tool,
)
from heddle_tools_service.sdk.models import (
    SCHEMA_DIALECT,
    Collections,
    Identifier,
    Input,
    NoArguments,
    NoOptions,
    Query,
    ToolArguments,
    ToolConfig,
)
from heddle_tools_service.sdk.results import Source, ToolError, ToolResult, ToolUnavailableError
from heddle_tools_service.sdk.routing import (
    Environment,
    Example,
    FailedTool,
    PastRun,
    ToolObjects,
    TreeData,
    Trigger,
)

__all__ = [
    "SCHEMA_DIALECT",
    "Assistant",
    "CalledFunction",
    "Caller",
    "Collections",
    "EarlierResult",
    "Effect",
    "Environment",
    "Error",
    "Example",
    "FailedTool",
    "FileChange",
    "Function",
    "FunctionOffer",
    "HeldBackFunction",
    "Identifier",
    "Input",
    "Mode",
    "NoArguments",
    "NoOptions",
    "OfferContext",
    "PastRun",
    "Query",
    "ReportStatus",
    "Response",
    "Result",
    "Source",
    "Status",
    "Tool",
    "ToolArguments",
    "ToolCall",
    "ToolConfig",
    "ToolError",
    "ToolObjects",
    "ToolOutput",
    "ToolResult",
    "ToolUnavailableError",
    "TreeData",
    "Trigger",
    "own_words",
    "tool",
]
