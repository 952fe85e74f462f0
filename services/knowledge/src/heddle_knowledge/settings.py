"""Settings of the knowledge service."""

from pathlib import Path
from typing import Literal, Self

from heddle_runtime.http.egress import (
    NO_SECRET,
    EgressSettings,
    Networks,
    ServerAddress,
    ServerKey,
)
from heddle_runtime.settings import addresses
from heddle_runtime.storage.object_store import ObjectStoreSettings
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

NOWHERE = "none"  # not empty: an empty variable counts as not set


class EmbeddingServer(BaseModel):
    """The server of an embedding model."""

    model_config = ConfigDict(extra="forbid")

    url: ServerAddress = Field(min_length=1)
    dimension: int = Field(ge=1, le=8192)
    key: SecretStr = NO_SECRET
    tokens: int = Field(default=512, ge=16)
    api: Literal["openai", "jina"] = "openai"
    query_prefix: str = ""
    passage_prefix: str = ""
    threshold: float = Field(default=0.0, ge=0.0, le=1.0)


class KnowledgeSettings(ObjectStoreSettings, EgressSettings):
    """Settings of the knowledge service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_KNOWLEDGE_", populate_by_name=True)

    listen: addresses.Listen = addresses.KNOWLEDGE
    providers: addresses.Providers = None
    search_timeout_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Seconds that the search of one collection may take, and that the service "
        "waits for another server.",
    )
    assistants_address: addresses.AssistantsAddress = Field(
        default=addresses.ASSISTANTS,
        description=f"{addresses.description('the assistants service')} "
        f"{NOWHERE!r} if there is none: everything then belongs to the operator.",
    )
    data_dir: Path = Field(
        default=Path(".heddle/knowledge"),
        description="Folder of the knowledge store, on a local disk.",
    )
    store_url: SecretStr = Field(
        default=SecretStr(""),
        description="Where the knowledge store is instead: s3://BUCKET/PREFIX, or "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE of a server with pgvector. A database holds "
        "uploaded files and ingestion jobs, too, so that all replicas serve them.",
    )
    store_options: dict[str, SecretStr] = Field(
        default={},
        description="What the store at an s3:// address needs besides, as a JSON object: endpoint, "
        "region, aws_access_key_id, aws_secret_access_key, allow_http. What is missing is taken "
        "from the variables AWS_*.",
    )
    version_seconds: float = Field(
        default=120.0,
        gt=0,
        description="Seconds that files of earlier versions of a collection stay, for searches "
        "that still read them. Their space is free afterwards. Of a store in a folder or at s3://.",
    )
    cleanup_seconds: float = Field(
        default=300.0,
        gt=0,
        description="Seconds between two times at which the service removes what was deleted from "
        "files and tables, and completes deletions that a crash broke off.",
    )
    search_memory_mb: int = Field(
        default=256,
        ge=0,
        description="MiB for copies of collections of up to 20,000 passages, which are searched "
        "in memory for a minute after their last use. Larger ones, and those that do not fit, are "
        "searched where they are stored, at ten times the work; 0: all of them.",
    )
    parser_processes: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Processes that read documents. One organisation uses all but one of them.",
    )
    web_networks: Networks = Field(
        default=(),
        description="Private networks, separated by commas, from which every user may add "
        "documents to collections by their addresses. If empty, only public addresses are allowed. "
        "HEDDLE_ALLOWED_PRIVATE_NETWORKS has no effect on this, because it is for administrators.",
    )
    youtube_url: ServerAddress = Field(
        default="https://www.youtube.com",
        description="Address of the server that transcripts of YouTube videos come from: YouTube, "
        "or one that answers as it does.",
    )
    embeddings_url: ServerAddress = Field(
        default="",
        description="Address of the embeddings' server up to and with its version, such as "
        "http://vllm:8000/v1, http://ollama:11434/v1 or https://api.jina.ai/v1.",
    )
    embeddings_key: ServerKey = NO_SECRET
    embeddings_model: str = Field(
        default="", description="The embedding model, as its server calls it."
    )
    embeddings_dimension: int = Field(
        default=1024, ge=1, le=8192, description="Numbers in a vector of that model."
    )
    embeddings_servers: dict[str, EmbeddingServer] = Field(
        default_factory=dict,
        description="Further embedding models, for collections that name them and those that an "
        "earlier default filled, each with its server, as a JSON object: "
        '`{"bge-m3": {"url": "http://ollama:11434/v1", "dimension": '
        "1024}}`. Members that are missing (`key`, `tokens`, `api`, `query_prefix`, "
        "`passage_prefix`, `threshold`) have the defaults of the settings of the same names.",
    )
    embeddings_tokens: int = Field(
        default=512, ge=16, description="Tokens of a text that the model reads."
    )
    embeddings_threshold: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="The least relevance of the best passage with which assistants that decline "
        "other subjects answer: two thirds are its similarity, one third the share of the words "
        "of the question that it has. It depends on the model; 0 declines nothing.",
    )
    embeddings_api: Literal["openai", "jina"] = Field(
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
    reranker_url: ServerAddress = Field(
        default="",
        description="Address of a server with a reranking model, up to and with its version: "
        "http://vllm:8000/v1, https://api.jina.ai/v1, https://api.cohere.com/v2. Empty: there is "
        "none.",
    )
    reranker_key: ServerKey = NO_SECRET
    reranker_model: str = Field(default="", description="The model, as its server calls it.")
    visual_search_url: ServerAddress = Field(
        default="",
        description="Address of a server with a model that sees pages, up to and without what its "
        "shape adds: http://vllm:8000 or https://api.jina.ai/v1.",
    )
    visual_search_key: ServerKey = NO_SECRET
    visual_search_model: str = Field(
        default="jina-embeddings-v4", description="The model, as its server calls it."
    )
    visual_search_dimension: int = Field(
        default=128, ge=1, le=8192, description="Numbers in a vector of that model."
    )
    visual_search_api: Literal["vllm", "jina"] = Field(
        default="jina",
        description="How it is asked: `vllm` at /pooling, `jina` at /embeddings with "
        "return_multivector.",
    )
    vlm_url: ServerAddress = Field(
        default="",
        description="Address of a server with OpenAI's chat completions and a model that takes "
        "pictures, up to and with its version: http://mlx:8080/v1, "
        "https://generativelanguage.googleapis.com/v1beta/openai.",
    )
    vlm_key: ServerKey = NO_SECRET
    vlm_model: str = Field(default="", description="The model, as its server calls it.")

    @model_validator(mode="after")
    def _check_servers(self) -> Self:
        store = self.store_url.get_secret_value()
        if self.providers == "cloud" and not (self.embeddings_url and store):
            raise ValueError(
                "HEDDLE_PROVIDERS=cloud needs HEDDLE_KNOWLEDGE_EMBEDDINGS_URL and "
                "HEDDLE_KNOWLEDGE_STORE_URL; or leave it empty, so that each part uses the server "
                "that is named for it"
            )
        for name in ("EMBEDDINGS", "RERANKER", "VLM"):
            url, model = (getattr(self, f"{name.lower()}_{part}") for part in ("url", "model"))
            if url and not model:
                raise ValueError(f"HEDDLE_KNOWLEDGE_{name}_URL needs HEDDLE_KNOWLEDGE_{name}_MODEL")
        return self

    def remote(self, url: str) -> bool:
        """Return whether a part is a server's: whether its address is set and may be used."""
        return bool(url) and self.providers != "local"
