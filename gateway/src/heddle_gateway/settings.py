"""Settings of the gateway."""

from pathlib import Path
from typing import Literal, Self

from heddle_runtime import addresses
from heddle_runtime.settings import ServiceSettings, is_local
from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

MIN_KEY_CHARACTERS = 16
EventView = Literal["openwebui", "reasoning", "none"]
_EVERYBODY_KNOWS = "0p3n-w3bu!"  # what LAMB's documentation gives as its key


class GatewaySettings(ServiceSettings):
    """Settings of the gateway."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_GATEWAY_", populate_by_name=True)

    listen: str = Field(
        default="127.0.0.1:8080", description="Where the HTTP server listens: host:port."
    )
    orchestrator_address: addresses.OrchestratorAddress = addresses.ORCHESTRATOR
    tools_address: addresses.ToolsAddress = addresses.TOOLS
    knowledge_address: addresses.KnowledgeAddress = addresses.KNOWLEDGE
    connector_address: addresses.ConnectorAddress = addresses.CONNECTOR
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    migration_address: addresses.MigrationAddress = addresses.MIGRATION
    api_key: SecretStr | None = Field(
        default=None,
        min_length=MIN_KEY_CHARACTERS,
        validation_alias=AliasChoices(
            "HEDDLE_GATEWAY_API_KEY", "LAMB_BEARER_TOKEN", "PIPELINES_BEARER_TOKEN"
        ),
        description="One API key that may do everything. For several keys use `heddle keys`, or "
        "the file. LAMB's own names LAMB_BEARER_TOKEN and PIPELINES_BEARER_TOKEN serve as well.",
    )
    api_keys: Path | None = Field(
        default=None,
        description="A YAML or JSON file that maps API keys, or sha256:<hex> of them, to their "
        "owners: subject, organization, scopes, trusted.",
    )
    issued_keys_only: bool = Field(
        default=False,
        description="Start without a key of your own here: only those that `heddle keys create` "
        "gave out are let in. With a key here they are let in as well.",
    )
    development: bool = Field(
        default=False,
        description="Ask for no API key. Only on an address that no other machine can reach.",
    )
    deadline: float = Field(
        default=120.0, gt=0, description="Seconds after which an answer is given up."
    )
    max_body_bytes: int = Field(
        default=25 * 1024 * 1024, gt=0, description="The largest body of a request."
    )
    body_timeout: float = Field(
        default=15.0,
        gt=0,
        description="Seconds that the head of a request may take, and its body beyond the time "
        "that a slow line needs for it (256 KiB a second).",
    )
    idle_timeout: int = Field(
        default=75,
        gt=0,
        description="Seconds that a connection is kept open on which nothing comes, or on which "
        "the client takes nothing of an answer that waits for it.",
    )
    keep_alive: float = Field(
        default=10.0,
        gt=0,
        description="Seconds of silence after which a stream sends a comment, so that nothing "
        "on the way takes it for dead.",
    )
    small_model: str = Field(
        default="",
        pattern=r"^$|^[a-z][a-z0-9_]*/.+$",
        description="The model, as connector/model, that writes what Open WebUI asks for itself, "
        "such as titles and tags. Unless set, the assistant's own model does, without its tools.",
    )
    events: EventView = Field(
        default="openwebui",
        description="How progress and sources are streamed unless the header X-Heddle-Events "
        "says otherwise: openwebui (as it shows them), reasoning (as reasoning text), none.",
    )
    public_url: str = Field(
        default="",
        pattern=r"^$|^https?://[^\s()<>\"?#]+$",
        description="Where clients reach the gateway, for links to pictures. Unless set, they lead "
        "to the address that the request was sent to.",
    )
    cors_origins: tuple[str, ...] = Field(
        default=(), description="Web origins whose pages may call the gateway, as a JSON array."
    )

    @field_validator("api_key", mode="before")
    @classmethod
    def _refuse_the_known_key(cls, value: object) -> object:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if text == _EVERYBODY_KNOWS:
            raise ValueError(
                "is the key of LAMB's documentation, which everybody knows. Set another in "
                "HEDDLE_GATEWAY_API_KEY or LAMB_BEARER_TOKEN, and in Open WebUI"
            )
        return value

    @model_validator(mode="after")
    def _ask_for_keys(self) -> Self:
        if self.development and not is_local(self.listen):
            message = (
                f"development asks for no API key, but {self.listen} can be reached from other "
                "machines: listen on 127.0.0.1, or set HEDDLE_GATEWAY_API_KEY instead"
            )
            raise ValueError(message)
        if not (self.development or self.api_key or self.api_keys or self.issued_keys_only):
            message = (
                "set HEDDLE_GATEWAY_API_KEY or HEDDLE_GATEWAY_API_KEYS, or "
                "HEDDLE_GATEWAY_ISSUED_KEYS_ONLY=true to let in the keys of `heddle keys create` "
                "alone, or HEDDLE_GATEWAY_DEVELOPMENT=true to try Heddle on this machine without "
                "a key"
            )
            raise ValueError(message)
        if self.listen.startswith("unix:"):
            message = "the gateway listens on host:port"
            raise ValueError(message)
        return self
