"""Finds small passages and brings the sections around them."""

from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.sdk import ToolCall, ToolResult, tool
from heddle_tools_service.tools.context_aware_rag import rewritten
from heddle_tools_service.tools.simple_rag import KnowledgeBaseConfig, check, look_up, rag_result


@tool(
    "hierarchical_rag",
    title="Hierarchical RAG",
    config=KnowledgeBaseConfig,
    slot="context",
    category="rag",
    modes=("augment", "function"),
)
async def hierarchical_rag(
    call: ToolCall[KnowledgeBaseConfig], passages: Passages, model: SmallModel
) -> ToolResult:
    """Retrieves the sections around the passages that answer what the conversation asks."""
    check(call)
    query = await rewritten(call, model)
    findings = await look_up(call, passages, query, sections=True)
    # Several passages of one section bring it once.
    sections = dict.fromkeys(passage.section or passage.text for passage in findings.passages)
    return rag_result(call, findings, sections, query_rewritten=query != call.query)
