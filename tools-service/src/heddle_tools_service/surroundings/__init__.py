"""What a tool can see and use: the shapes and interfaces that `sdk` hands to authors."""

from heddle_tools_service.surroundings.catalogues import Catalogue, OpenCatalogue
from heddle_tools_service.surroundings.files import Files, FileText, Rubric, Rubrics
from heddle_tools_service.surroundings.graphs import Graph, GraphFindings, Link, Mentions, Theme
from heddle_tools_service.surroundings.models import Generate
from heddle_tools_service.surroundings.pages import FoundPage, FoundPages, Interpretation, Pages
from heddle_tools_service.surroundings.passages import (
    NO_OPTIONS,
    FailedSearch,
    Findings,
    Knowledge,
    Passage,
    SearchOptions,
)
from heddle_tools_service.surroundings.people import Assistant, Caller, EarlierResult
from heddle_tools_service.surroundings.webs import Web, WebAnswer, WebResult
from heddle_tools_service.surroundings.workspaces import FileChange, Tell, Workspace

__all__ = [
    "NO_OPTIONS",
    "Assistant",
    "Caller",
    "Catalogue",
    "EarlierResult",
    "FailedSearch",
    "FileChange",
    "FileText",
    "Files",
    "Findings",
    "FoundPage",
    "FoundPages",
    "Generate",
    "Graph",
    "GraphFindings",
    "Interpretation",
    "Knowledge",
    "Link",
    "Mentions",
    "OpenCatalogue",
    "Pages",
    "Passage",
    "Rubric",
    "Rubrics",
    "SearchOptions",
    "Tell",
    "Theme",
    "Web",
    "WebAnswer",
    "WebResult",
    "Workspace",
]
