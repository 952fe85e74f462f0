"""The SDK for authors of connectors. `connectors/bypass.py` is the smallest example.

A connector is one file: a class with two methods and the decorator `connector`. Put the file into
the folder `HEDDLE_CONNECTOR_PLUGINS_DIR`, or name it in the entry-point group `heddle.connectors`
of a distribution. `heddle_connector.sdk.testing` tests it.

For a provider over HTTP, `HttpConnector` needs only the request and a reader of the answer, and
`KeyedConnector` adds the key and the list of models. `connectors/ollama.py` and
`connectors/openai.py` are examples.

Organisations use a connector only if it says how: it marks the settings that each organisation
supplies for itself with `FromOrganization`, or is `for_all_organizations` if it needs no provider's
account. Otherwise only assistants of the operator's own organisation use it.
"""

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.chat.v1.chat_pb2 import GeneratedImage
from heddle_runtime.contract.unicode_text import json_text
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    ProviderGarbledError,
    ProviderRefusedError,
    ResourceExhaustedError,
    UnavailableError,
    Violation,
)
from heddle_runtime.redaction import redact

from heddle_connector.completion.passthrough_fields import PassthroughFields
from heddle_connector.completion.reader import CompletionReader
from heddle_connector.completion.request import completion_body
from heddle_connector.generation.answer_reader import AnswerReader
from heddle_connector.generation.call import Call, Options
from heddle_connector.generation.events import (
    AnswerWarning,
    Batch,
    Done,
    Event,
    FinishReason,
    Logprobs,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)
from heddle_connector.http import HttpClient, Request
from heddle_connector.http.lines import LineDecoder
from heddle_connector.http.provider_errors import error_in_body
from heddle_connector.http.sse import SseDecoder
from heddle_connector.http.tolerant_json import BAD_JSON, TolerantDecoder, argument_text, as_text
from heddle_connector.sdk.definition import (
    WEB_PAGE,
    BaseUrl,
    Connector,
    Example,
    FromOrganization,
    Model,
    ModelNames,
    NoSettings,
    Plugin,
    Settings,
    connector,
)
from heddle_connector.sdk.message_values import arguments_object, inline_data, option
from heddle_connector.sdk.providers import HttpConnector, KeyedConnector, KeyedSettings
from heddle_connector.sdk.time_limit import TimeLimit

__all__ = [
    "BAD_JSON",
    "WEB_PAGE",
    "AnswerReader",
    "AnswerWarning",
    "Assistant",
    "BaseUrl",
    "Batch",
    "Call",
    "CompletionReader",
    "Connector",
    "DeadlineError",
    "Done",
    "Event",
    "Example",
    "FinishReason",
    "FromOrganization",
    "GeneratedImage",
    "HeddleError",
    "HttpClient",
    "HttpConnector",
    "InvalidRequestError",
    "KeyedConnector",
    "KeyedSettings",
    "LineDecoder",
    "Logprobs",
    "Model",
    "ModelNames",
    "NoSettings",
    "NotFoundError",
    "Options",
    "PassthroughFields",
    "Plugin",
    "ProviderGarbledError",
    "ProviderRefusedError",
    "ReasoningDelta",
    "Request",
    "ResourceExhaustedError",
    "Settings",
    "SseDecoder",
    "TextDelta",
    "TimeLimit",
    "TolerantDecoder",
    "ToolCall",
    "UnavailableError",
    "Usage",
    "Violation",
    "argument_text",
    "arguments_object",
    "as_text",
    "completion_body",
    "connector",
    "error_in_body",
    "inline_data",
    "json_text",
    "option",
    "redact",
]
