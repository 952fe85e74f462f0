"""Formats references: each DOI in a text becomes a citation, by the registry of the DOI."""

import re

import httpx
from heddle_tools_service.sdk import Query, Source, ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field

DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]*[^\s\"<>.,;:!?)]")


class CitationConfig(ToolConfig):
    """What an assistant's author can set."""

    style: str = Field(default="apa", pattern=r"^[a-z0-9-]+$", description="A name of CSL: ieee.")
    resolver: str = Field(default="https://doi.org", description="What resolves DOIs.")


class References(Query):
    """What to format."""

    query: str = Field(min_length=1, max_length=4_000, description="A text with DOIs.")


@tool("citation", title="Citation", modes=("augment", "function"), effect="read_only")
async def citation(
    call: ToolCall[CitationConfig, References], http: httpx.AsyncClient
) -> ToolResult:
    """Formats the reference of each DOI in a text."""
    headers = {"accept": f"text/x-bibliography; style={call.config.style}"}
    sources, warnings = [], []
    for doi in dict.fromkeys(DOI.findall(call.query)[:10]):
        url = f"{call.config.resolver}/{doi}"
        answer = await http.get(url, headers=headers, follow_redirects=True)
        if answer.is_success and "html" not in answer.headers.get("content-type", ""):
            sources.append(Source(answer.text.strip(), f"https://doi.org/{doi}"))
        else:
            warnings.append(f"There is no reference for the DOI {doi}.")
    return ToolResult("\n".join([each.title for each in sources] + warnings), sources, {}, warnings)
