"""Settings of the gateway."""

from pathlib import Path
from typing import Literal, Self

from heddle_runtime.http.egress import EgressSettings, Networks
from heddle_runtime.settings import addresses
from heddle_runtime.settings.addresses import is_local
from heddle_runtime.telemetry.export import TracesSettings
from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

MIN_KEY_CHARACTERS = 16
EventView = Literal["auto", "openwebui", "reasoning", "none"]


class GatewaySettings(EgressSettings, TracesSettings):
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
        description="One API key that may do everything, of 16 characters or more. For several "
        "keys use `heddle keys`, or the file.",
    )
    trusted_api_key: SecretStr | None = Field(
        default=None,
        min_length=MIN_KEY_CHARACTERS,
        description="One API key for Open WebUI, of 16 characters or more: its requests act on "
        "behalf of the user in X-OpenWebUI-User-Email, a member of the operator's "
        "organisation. Without that header they may use published assistants and nothing else.",
    )
    api_keys: Path | None = Field(
        default=None,
        description="A YAML or JSON file that maps API keys of 16 characters or more, or "
        "sha256:<hex> of them, to their owners: subject, organization, scopes, trusted.",
    )
    issued_keys_only: bool = Field(
        default=False,
        description="Start without a key in these settings: only keys of `heddle keys create` are "
        "valid. They are also valid beside a key in these settings.",
    )
    development: bool = Field(
        default=False,
        description="Accept requests without an API key, or with the key 'development', as the "
        "operator's. Only on an address that no other machine can reach.",
    )
    deadline_seconds: float = Field(
        default=120.0, gt=0, description="Seconds after which a completion is cancelled."
    )
    key_requests_per_minute: int = Field(
        default=0,
        ge=0,
        description="Requests a minute of one API key; 0: without a limit. Each replica counts "
        "alone. Users behind one trusted key share its limits.",
    )
    key_concurrent_requests: int = Field(
        default=0, ge=0, description="Concurrent requests of one API key; 0: without a limit."
    )
    organization_requests_per_minute: int = Field(
        default=0,
        ge=0,
        description="Requests a minute of all keys of one organisation; 0: without a limit.",
    )
    organization_concurrent_requests: int = Field(
        default=0,
        ge=0,
        description="Concurrent requests of all keys of one organisation; 0: without a limit.",
    )
    organization_starting_requests: int = Field(
        default=8,
        ge=0,
        description="Requests of one organisation that may start at the same time while other "
        "organisations send requests, too; 0: without a limit. Each counts for 0.1 s, or until it "
        "is complete but not longer than 0.25 s. Further requests wait for their turn up to 30 s.",
    )
    max_body_bytes: int = Field(
        default=25 * 1024 * 1024, gt=0, description="The maximum size of a request's body."
    )
    body_timeout_seconds: float = Field(
        default=15.0,
        gt=0,
        description="Seconds for the head of a request, and for its body in addition to its time "
        "on a slow connection (256 KiB per second).",
    )
    idle_timeout_seconds: int = Field(
        default=75,
        gt=0,
        description="Seconds after which a connection is closed on which nothing arrives, or whose "
        "client does not read its response.",
    )
    keep_alive_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Seconds of silence after which a stream sends a comment, so that proxies do "
        "not close it.",
    )
    small_model: str = Field(
        default="",
        pattern=r"^$|^[a-z][a-z0-9_]*/.+$",
        description="The model, as connector/model, for Open WebUI's tasks, as titles and tags. "
        "By default the assistant's own model, without its tools.",
    )
    events: EventView = Field(
        default="auto",
        description="How progress, sources and images are streamed without the header "
        "X-Heddle-Events: openwebui (in its form, each once), reasoning (as reasoning text), none, "
        "auto (openwebui for requests of Open WebUI; for others also citations and links to "
        "images, which Open WebUI would show twice).",
    )
    documentation_url: str = Field(
        default="",
        validation_alias="HEDDLE_DOCUMENTATION_URL",
        pattern=r"^$|^https?://",
        description="Address of the documentation site, which `make docs` builds: /docs and "
        "/errors of the gateway lead there, and `heddle` prints links to it. By default, the "
        "gateway serves the site itself at /docs.",
    )
    public_url: str = Field(
        default="",
        pattern=r"^$|^https?://[^\s()<>\"?#]+$",
        description="The address of the gateway for clients, in links to images. By default the "
        "address of the request. If it begins with https, the cookie of a session is sent over "
        "https only.",
    )
    password_login: bool = Field(
        default=True,
        description="Let users sign in with an e-mail address and a password. Users without a "
        "password cannot; `heddle users set-password` sets one.",
    )
    oidc_providers: Path | None = Field(
        default=None,
        description="A YAML or JSON file with a list of identity providers (OpenID Connect), with "
        "which users sign in. docs/sign-in.md shows its form.",
    )
    trusted_proxies: Networks = Field(
        default=(),
        description="Networks of reverse proxies, separated by commas, whose X-Forwarded-For is "
        "true. It limits the failures of a client to sign in; without this setting, all clients "
        "behind a proxy are one.",
    )
    studio: bool = Field(
        default=True, description="Whether the gateway serves the web application at /studio."
    )
    cors_origins: tuple[str, ...] = Field(
        default=(), description="Web origins whose pages may call the gateway, as a JSON array."
    )

    @model_validator(mode="after")
    def _refuse_open_doors(self) -> Self:
        if self.development and not is_local(self.listen):
            message = (
                f"development requires no API key, but {self.listen} can be reached from other "
                "machines: listen on 127.0.0.1, or set HEDDLE_GATEWAY_API_KEY instead"
            )
            raise ValueError(message)
        if self.listen.startswith("unix:"):
            message = "the gateway listens on host:port"
            raise ValueError(message)
        return self
