"""LAMB's plugins that search, and their parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import StrictModel
from heddle_runtime.errors import NotFoundError
from pydantic import Field

_MAX_PASSAGES = 100
SIMPLE = "simple_query"


class SearchParameters(StrictModel):
    """Parameters of `simple_query`."""

    top_k: int = Field(
        default=5, ge=1, le=_MAX_PASSAGES, description="The maximum number of passages."
    )
    threshold: float = Field(
        default=0.0,
        ge=-1,
        le=1,
        description="The minimum similarity of a passage. 0 stands for no minimum.",
    )


class SectionParameters(SearchParameters):
    """Parameters of `parent_child_query`."""

    return_parent_context: bool = Field(
        default=True,
        description="Of `parent_child_query`: whether `data` is the section around the passage, or "
        "the passage.",
    )


@dataclass(frozen=True, slots=True)
class QueryPlugin:
    """A plugin that searches."""

    description: str
    parameters: type[SearchParameters]


QUERY_PLUGINS: Mapping[str, QueryPlugin] = MappingProxyType(
    {
        SIMPLE: QueryPlugin("Finds passages.", SearchParameters),
        "parent_child_query": QueryPlugin(
            "Finds passages, with the section around each.", SectionParameters
        ),
    }
)


def query_plugin(name: str, parameters: SectionParameters | None) -> str:
    """Return the name of a plugin, `simple_query` by default, if it has these parameters.

    Raises:
        NotFoundError: There is no such plugin.
        InvalidRequestError: Names a parameter that the plugin does not have.
    """
    plugin = QUERY_PLUGINS.get(name or SIMPLE)
    if plugin is None:
        known = " and ".join(QUERY_PLUGINS)
        raise NotFoundError(f"There is no query plugin {name[:80]!r}, only {known}.")
    unknown = (parameters.model_fields_set if parameters else set()) - set(
        plugin.parameters.model_fields
    )
    for each in unknown:
        raise invalid(f"plugin_params.{each}", f"is no parameter of {name or SIMPLE}")
    return name or SIMPLE
