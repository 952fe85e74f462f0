"""Settings of what the service's own knowledge and searches rest on."""

from pathlib import Path
from typing import Literal, Self

from heddle_runtime.egress import EgressSettings
from pydantic import Field, SecretStr, field_validator, model_validator

from heddle_tools_service.providers.owner_servers import server_address

Place = Literal["local", "cloud"]
Provider = Literal["embeddings", "vectordb", "llm", "visual_search", "vlm"]
SearchProvider = Literal["perplexity", "tavily", "brave", "searxng"]
MODEL = r"^$|^[a-z][a-z0-9_]*/.+$"


class ProviderSettings(EgressSettings):
    """Which implementation of each provider is used, and where it is."""

    providers: Place | None = Field(
        default=None,
        description="Where embeddings, the vector database and the small model come from, unless "
        "the setting of one says otherwise: `local` for what is in this service, `cloud` for the "
        "servers that other settings name. Without, each is the cloud's if its server is named.",
    )
    vectordb: Place | None = Field(
        default=None, description="Where the knowledge store is: local or cloud."
    )
    data_dir: Path = Field(
        default=Path(".heddle/knowledge"),
        description="Folder of the knowledge store, on a local disk.",
    )
    knowledge_url: SecretStr = Field(
        default=SecretStr(""),
        description="Where the knowledge store is instead: s3://BUCKET/PREFIX, or "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE of a server with pgvector.",
    )
    knowledge_storage: dict[str, SecretStr] = Field(
        default={},
        description="What the store at an s3:// address needs besides, as a JSON object: endpoint, "
        "region, aws_access_key_id, aws_secret_access_key, allow_http. What is missing is taken "
        "from the variables AWS_*.",
    )
    embeddings: Place | None = Field(
        default=None, description="Where embeddings come from: local or cloud."
    )
    embeddings_url: str = Field(
        default="",
        description="Address of the embeddings' server up to and with its version, such as "
        "http://vllm:8000/v1, http://ollama:11434/v1 or https://api.jina.ai/v1.",
    )
    embeddings_key: SecretStr = Field(
        default=SecretStr(""), description="The key of that server. Sent to no other."
    )
    embeddings_model: str = Field(
        default="", description="The embedding model, as its server calls it."
    )
    embeddings_dimension: int = Field(
        default=1024, ge=1, le=8192, description="Numbers in a vector of that model."
    )
    embeddings_tokens: int = Field(
        default=512, ge=16, description="Tokens of a text that the model reads."
    )
    embeddings_shape: Literal["openai", "jina"] = Field(
        default="openai",
        description="How questions are told from passages: `openai` by the prefixes below, `jina` "
        "by a task.",
    )
    embeddings_query_prefix: str = Field(
        default="", description="What a model such as E5 wants before a question: `query: `."
    )
    embeddings_passage_prefix: str = Field(
        default="", description="What it wants before a passage: `passage: `."
    )
    embeddings_batch: int = Field(
        default=32, ge=1, le=2048, description="The most texts in one request."
    )
    reranker_url: str = Field(
        default="",
        description="Address of a server with a reranking model, up to and with its version: "
        "http://vllm:8000/v1, https://api.jina.ai/v1, https://api.cohere.com/v2. Empty: there is "
        "none.",
    )
    reranker_key: SecretStr = Field(
        default=SecretStr(""), description="The key of that server. Sent to no other."
    )
    reranker_model: str = Field(default="", description="The model, as its server calls it.")
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
    visual_search: Place | None = Field(
        default=None,
        description="What finds pages: `local` by the words that are read on them, `cloud` by a "
        "model that sees them. Where no address is set for the latter, the former does it.",
    )
    visual_search_url: str = Field(
        default="",
        description="Address of a server with a model that sees pages, up to and without what its "
        "shape adds: http://vllm:8000 or https://api.jina.ai/v1.",
    )
    visual_search_key: SecretStr = Field(
        default=SecretStr(""), description="The key of that server. Sent to no other."
    )
    visual_search_model: str = Field(
        default="jina-embeddings-v4", description="The model, as its server calls it."
    )
    visual_search_dimension: int = Field(
        default=128, ge=1, le=8192, description="Numbers in a vector of that model."
    )
    visual_search_shape: Literal["vllm", "jina"] = Field(
        default="jina",
        description="How it is asked: `vllm` at /pooling, `jina` at /embeddings with "
        "return_multivector.",
    )
    vlm: Place | None = Field(
        default=None,
        description="What looks at pages for visual_interpretation: `local` tells what is written "
        "on them, `cloud` is a vision model. Where no address is set for the latter, the former "
        "does it.",
    )
    vlm_url: str = Field(
        default="",
        description="Address of a server with OpenAI's chat completions and a model that takes "
        "pictures, up to and with its version: http://mlx:8080/v1, "
        "https://generativelanguage.googleapis.com/v1beta/openai.",
    )
    vlm_key: SecretStr = Field(
        default=SecretStr(""), description="The key of that server. Sent to no other."
    )
    vlm_model: str = Field(default="", description="The model, as its server calls it.")
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

    @field_validator(
        *("embeddings_url", "reranker_url", "web_search_searxng_url"),
        *("visual_search_url", "vlm_url"),
    )
    @classmethod
    def _check_address(cls, url: str) -> str:
        return server_address(url) if url else ""

    @model_validator(mode="after")
    def _check_cloud(self) -> Self:
        if self.place_of("embeddings") == "cloud" and not (
            self.embeddings_url and self.embeddings_model
        ):
            raise ValueError(
                "embeddings of the cloud need HEDDLE_TOOLS_EMBEDDINGS_URL and "
                "HEDDLE_TOOLS_EMBEDDINGS_MODEL; or set HEDDLE_TOOLS_EMBEDDINGS=local"
            )
        if self.place_of("vectordb") == "cloud" and not self.knowledge_url.get_secret_value():
            raise ValueError(
                "a vector database of the cloud needs HEDDLE_TOOLS_KNOWLEDGE_URL; or set "
                "HEDDLE_TOOLS_VECTORDB=local"
            )
        for name, url in (("VISUAL_SEARCH", self.visual_search_url), ("VLM", self.vlm_url)):
            if getattr(self, name.lower()) == "cloud" and not url:
                raise ValueError(
                    f"HEDDLE_TOOLS_{name}=cloud needs HEDDLE_TOOLS_{name}_URL; or set it to local"
                )
        if self.vlm_url and not self.vlm_model:
            raise ValueError("HEDDLE_TOOLS_VLM_URL needs HEDDLE_TOOLS_VLM_MODEL")
        if self.reranker_url and not self.reranker_model:
            raise ValueError("HEDDLE_TOOLS_RERANKER_URL needs HEDDLE_TOOLS_RERANKER_MODEL")
        return self

    def place_of(self, provider: Provider) -> Place:
        """Return where a provider comes from."""
        named = {
            "embeddings": self.embeddings_url,
            "vectordb": self.knowledge_url.get_secret_value(),
            "llm": self.small_fast_model_cloud,
            "visual_search": self.visual_search_url,
            "vlm": self.vlm_url,
        }
        own: Place | None = getattr(self, provider)
        return own or self.providers or ("cloud" if named[provider] else "local")
