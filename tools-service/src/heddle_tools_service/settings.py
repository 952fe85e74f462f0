"""Settings of the tool service."""

from pathlib import Path
from typing import Literal

from heddle_runtime.contract.limits import DEFAULT_TOOL_SECONDS, ToolTimeoutSeconds
from heddle_runtime.http.egress import NO_SECRET, EgressSettings, ServerAddress, ServerToken
from heddle_runtime.settings import addresses
from heddle_runtime.settings.addresses import Place
from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import SettingsConfigDict

Sandbox = Literal["auto", "required", "off"]
SearchProvider = Literal["perplexity", "tavily", "brave", "searxng"]
_MODEL = r"^$|^[a-z][a-z0-9_]*/.+$"
NO_SERVICE = "none"  # not empty: an empty environment variable counts as unset


class ToolsSettings(EgressSettings):
    """Settings of the tool service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_TOOLS_", populate_by_name=True)

    listen: addresses.Listen = addresses.TOOLS
    plugins_dir: Path | None = Field(
        default=None,
        validation_alias="HEDDLE_TOOLS_PLUGINS_DIR",
        description="Folder with additional tools, one Python file each. They belong to root or to "
        "the user of the service, and only these and groups of the service may write them.",
    )
    sandbox: Sandbox = Field(
        default="auto",
        description="How additional tools run. `auto`: in processes of their own without files, "
        "network and secrets, as far as the kernel can confine them. `required`: likewise, and the "
        "service does not start if the kernel lacks Landlock or seccomp. `off`: in the service, "
        "with all its rights.",
    )
    plugin_memory_mb: int = Field(
        default=512, ge=64, description="Megabytes that the process of a plugin may allocate."
    )
    plugin_environment: dict[str, list[str]] = Field(
        default={},
        description="The environment variables that additional tools may read, as a JSON object of "
        'lists by the name of the file or package: {"city.py": ["CITY_KEY"]}. Names that begin '
        "with HEDDLE_ are refused.",
    )
    plugin_hashes: dict[str, str] = Field(
        default={},
        description="The SHA-256 of each file in the folder of additional tools, as a JSON object; "
        "files without one, or with another one, are not loaded. Empty: any file is.",
    )
    disabled: frozenset[str] = Field(
        default=frozenset(),
        description='Tools that are switched off, as a JSON list: ["query_documents_metadata"]. '
        "They are not offered to models, and calls of them are refused.",
    )
    tool_timeout_seconds: ToolTimeoutSeconds = DEFAULT_TOOL_SECONDS
    http_timeout: float = Field(
        default=10.0, gt=0, description="Seconds that a tool waits for another server."
    )
    threads_per_tool: int = Field(
        default=8, ge=1, description="Calls at once of a tool that is not async."
    )
    files_dir: Path = Field(
        default=Path(".heddle/files"), description="Folder that the tool single_file reads from."
    )
    workspace_dir: Path = Field(
        default=Path(".heddle/workspaces"),
        description="Folder of the files that models may read and change, on a local disk: a "
        "folder for each organisation, and in it one for each of its people.",
    )
    rubrics_dir: Path = Field(
        default=Path(".heddle/rubrics"),
        description="Folder of assessment rubrics, one YAML or JSON file each, for ids that the "
        "database does not have.",
    )
    moodle_url: ServerAddress = Field(
        default="",
        validation_alias=AliasChoices("HEDDLE_TOOLS_MOODLE_URL", "MOODLE_API_URL"),
        description="Address of the operator's Moodle, for the operator's own assistants; "
        "MOODLE_API_URL is read as well. Organisations have their own in their settings.",
    )
    moodle_token: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("HEDDLE_TOOLS_MOODLE_TOKEN", "MOODLE_TOKEN"),
        description="The token of that Moodle's web service. Sent to no other.",
    )
    library_url: ServerAddress = Field(
        default="",
        validation_alias=AliasChoices("HEDDLE_TOOLS_LIBRARY_URL", "LAMB_LIBRARY_SERVER"),
        description="Address of the library server, whose documents imported assistants read as "
        "`library:<library>/<item>`; LAMB_LIBRARY_SERVER is read as well.",
    )
    library_token: ServerToken = Field(
        default=NO_SECRET,
        validation_alias=AliasChoices("HEDDLE_TOOLS_LIBRARY_TOKEN", "LAMB_LIBRARY_TOKEN"),
    )
    weather_url: ServerAddress = Field(
        default="https://api.open-meteo.com",
        description="Address of Open-Meteo's forecasts, or of a server of your own.",
    )
    geocoding_url: ServerAddress = Field(
        default="https://geocoding-api.open-meteo.com",
        description="Address of Open-Meteo's geocoder, or of a server of your own.",
    )
    providers: addresses.Providers = None
    llm: Place | None = Field(
        default=None, description="Which small fast model is used: local or cloud."
    )
    small_fast_model: str = Field(
        default="",
        pattern=_MODEL,
        description="Model that rewrites questions for context_aware_rag and hierarchical_rag and "
        "plans the searches of deep_analysis, as connector/model. Empty: questions are searched "
        "for as they are.",
    )
    small_fast_model_cloud: str = Field(
        default="",
        pattern=_MODEL,
        description="The same where the models come from the cloud. Empty: as there.",
    )
    web_search_keys: dict[SearchProvider, SecretStr] = Field(
        default={},
        description="Keys of search providers for the operator's assistants, as a JSON object: "
        "perplexity, tavily, brave; searxng needs none.",
    )
    web_search_searxng_url: ServerAddress = Field(
        default="", description="Address of a SearXNG that answers with JSON."
    )
    web_search_shared: bool = Field(
        default=False,
        description="Let organisations that have set up no search provider use the operator's, at "
        "the operator's expense.",
    )
    mcp_commands: dict[str, tuple[str, ...]] = Field(
        default={},
        description="Commands that assistants may run as MCP servers, as a JSON object: by name "
        "the program and its arguments. They run as this service does, with HOME, PATH and the "
        "like of its environment. Without, only servers with an address are used.",
    )
    assistants_address: addresses.AssistantsAddress = Field(
        default=addresses.ASSISTANTS,
        description=f"{addresses.description('the assistants service')} "
        f"{NO_SERVICE!r} if there is none: everything then belongs to the operator.",
    )
    connector_address: addresses.ConnectorAddress = addresses.CONNECTOR
    knowledge_address: addresses.KnowledgeAddress = addresses.KNOWLEDGE

    @field_validator("plugin_environment")
    @classmethod
    def _check_environment(cls, environment: dict[str, list[str]]) -> dict[str, list[str]]:
        for name in (each for names in environment.values() for each in names):
            if name.upper().startswith("HEDDLE_"):
                message = f"{name} is a setting of Heddle. Give the plugin a variable of its own."
                raise ValueError(message)
        return environment

    @field_validator("plugin_hashes")
    @classmethod
    def _check_hashes(cls, hashes: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if hashes and info.data.get("sandbox") == "off":
            raise ValueError("HEDDLE_TOOLS_SANDBOX=off checks no files: set it to auto")
        return hashes

    @field_validator("mcp_commands")
    @classmethod
    def _check_commands(cls, commands: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, command in commands.items():
            if not command or not command[0]:
                message = f"{name!r} names no program"
                raise ValueError(message)
        return commands

    @property
    def small_model(self) -> str:
        """The small fast model, as `connector/model`; empty if none is configured."""
        default = "cloud" if self.small_fast_model_cloud else "local"
        cloud = (self.llm or self.providers or default) == "cloud"
        return (self.small_fast_model_cloud if cloud else "") or self.small_fast_model
