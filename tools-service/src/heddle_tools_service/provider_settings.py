"""Settings of the small model and of web searches."""

from typing import Literal

from heddle_runtime.egress import EgressSettings
from heddle_runtime.remote_json import server_address
from pydantic import Field, SecretStr, field_validator

Place = Literal["local", "cloud"]
SearchProvider = Literal["perplexity", "tavily", "brave", "searxng"]
MODEL = r"^$|^[a-z][a-z0-9_]*/.+$"


class ProviderSettings(EgressSettings):
    """Which implementation of each provider is used, and where it is."""

    providers: Place | None = Field(
        default=None,
        validation_alias="HEDDLE_PROVIDERS",
        description="Where models are, unless the setting of one says otherwise: `local` for those "
        "that ship with Heddle, `cloud` for the servers that other settings name. The knowledge "
        "service reads it too. Without it, each is in the cloud if its server is named.",
    )
    llm: Place | None = Field(
        default=None, description="Which small fast model is used: local or cloud."
    )
    small_fast_model: str = Field(
        default="",
        pattern=MODEL,
        description="Model that rewrites questions for context_aware_rag and hierarchical_rag and "
        "plans the searches of deep_analysis, as connector/model. Empty: questions are searched "
        "for as they are.",
    )
    small_fast_model_cloud: str = Field(
        default="",
        pattern=MODEL,
        description="The same where the models come from the cloud. Empty: as there.",
    )
    web_search_keys: dict[SearchProvider, SecretStr] = Field(
        default={},
        description="Keys of search providers for the operator's assistants, as a JSON object: "
        "perplexity, tavily, brave; searxng needs none.",
    )
    web_search_searxng_url: str = Field(
        default="", description="Address of a SearXNG that answers with JSON."
    )
    web_search_shared: bool = Field(
        default=False,
        description="Let organisations that have set up no search provider use the operator's, at "
        "the operator's expense.",
    )

    @field_validator("web_search_searxng_url")
    @classmethod
    def _check_address(cls, url: str) -> str:
        return server_address(url) if url else ""

    @property
    def small_model(self) -> str:
        """The small fast model, as `connector/model`; empty if none is configured."""
        default = "cloud" if self.small_fast_model_cloud else "local"
        cloud = (self.llm or self.providers or default) == "cloud"
        return (self.small_fast_model_cloud if cloud else "") or self.small_fast_model
