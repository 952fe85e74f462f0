"""Settings that every service has."""

import logging
import sys
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from heddle_runtime.identity.secrets import split_secrets
from heddle_runtime.redaction import register_secrets
from heddle_runtime.settings.addresses import Listen, is_local
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS, LocalSecret
from heddle_runtime.settings.mutual_tls import TlsSettings
from heddle_runtime.settings.secret_files import (
    SUFFIX,
    SecretFileError,
    SecretFileSettings,
    is_secret,
    variables,
)
from heddle_runtime.telemetry import log_fields, logs
from heddle_runtime.telemetry.export import SpanSettings
from heddle_runtime.telemetry.metrics.endpoint import MetricsSettings

MIN_SECRET_CHARACTERS = 32


def _known_level(level: str) -> str:
    if level.upper() not in logging.getLevelNamesMapping():
        raise ValueError("must be DEBUG, INFO, WARNING, ERROR or CRITICAL")
    return level


LogLevel = Annotated[str, AfterValidator(_known_level)]
"""The type of a setting that holds the lowest logged level."""


class ServiceSettings(TlsSettings, MetricsSettings, SpanSettings):
    """Base of each service's settings; reads `HEDDLE_<SERVICE>_*` environment variables."""

    model_config = SettingsConfigDict(
        env_prefix="HEDDLE_",
        populate_by_name=True,
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,  # compose files pass unset variables as empty ones
    )

    listen: Listen = "127.0.0.1:0"
    log_level: LogLevel = Field(default="INFO", description="The lowest level that is logged.")
    shutdown_grace: float = Field(
        default=10.0,
        ge=0,
        description="Seconds that running calls may take to finish when the service stops.",
    )
    end_with_parent: bool = Field(
        default=False,
        validation_alias="HEDDLE_END_WITH_PARENT",
        description="Whether the service stops when the process that started it has ended, also "
        "if that was killed. `make up` sets it.",
    )
    drain_wait: float = Field(
        default=0.5,
        ge=0,
        description="Seconds between reporting NOT_SERVING and refusing calls. At least the time "
        "in which a load balancer notices.",
    )
    max_concurrent_calls: int = Field(
        default=2000,
        ge=1,
        description="Concurrent calls from other processes; for the gateway, concurrent requests "
        "of all kinds except health checks. Further ones are refused.",
    )
    multiplexing: bool = Field(
        default=True,
        validation_alias="HEDDLE_MULTIPLEXING",
        description="Accept many calls of another service over one long stream, at a fraction of "
        "the cost. Without multiplexing, each call is a gRPC call. A stopped process is then "
        "noticed within ten seconds instead of five, a blocked event loop only at the deadlines of "
        "calls.",
    )
    identity_secret: SecretStr = Field(
        default=None,
        validate_default=True,
        validation_alias="HEDDLE_IDENTITY_SECRET",
        description="The secret that signs the identity of callers, the same for all services. "
        "Required to listen on a network, and to call services on other machines. To change it "
        "while Heddle runs, restart each service with FORMER,NEW, then each with NEW,FORMER, and "
        "then each with NEW: the first one signs, and all are accepted.",
    )
    local_secret_file: Path = Field(
        default=Path(".heddle/identity-secret"),
        validation_alias="HEDDLE_LOCAL_SECRET_FILE",
        description="Without HEDDLE_IDENTITY_SECRET, the services of one machine share the secret "
        "in this file. The first one that starts creates it. Only its user may read it.",
    )

    @field_validator("identity_secret", mode="before")
    @classmethod
    def _share_within_the_process(cls, value: object) -> object:
        return OF_THIS_PROCESS if value is None else value

    @field_validator("identity_secret")
    @classmethod
    def _refuse_short_secrets(cls, value: SecretStr) -> SecretStr:
        if any(
            len(each) < MIN_SECRET_CHARACTERS for each in split_secrets(value.get_secret_value())
        ):
            message = f"should have at least {MIN_SECRET_CHARACTERS} characters"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _register_secrets(self) -> Self:
        register_secrets(self)
        return self

    @model_validator(mode="after")
    def _require_a_secret_beyond_this_machine(self) -> Self:
        if not isinstance(self.identity_secret, LocalSecret):
            return self
        if not is_local(self.listen):
            message = (
                f"{self.listen} can be reached from other machines: set HEDDLE_IDENTITY_SECRET to "
                "the same secret (32 characters or more) for all services, or listen on 127.0.0.1"
            )
            raise ValueError(message)
        for name, value in self:
            if name.endswith("_address") and ":" in value and not is_local(value):
                message = (
                    f"{value} is on another machine: set HEDDLE_IDENTITY_SECRET to the same secret "
                    "(32 characters or more) for all services"
                )
                raise ValueError(message)
        return self


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def read(kind: type[SettingsT], arguments: list[str] | None = None) -> SettingsT:
    """Return the settings in the environment, with the secret that services of a machine share.

    Raises:
        SystemExit: The arguments ask for help, a setting is not valid, or there is no secret that
            services can share. The process has printed the help, or logged the problems.
    """
    help_on_request(kind, arguments=arguments)
    try:
        settings = _with_secret(kind())
    except (OSError, ValidationError, SettingsError) as error:
        logs.cannot_start(_service(kind), _problems(kind, error))
    if isinstance(settings, ServiceSettings):
        secrets = split_secrets(settings.identity_secret.get_secret_value())
        log_fields.use_pseudonyms_of(secrets[0])
    return settings


def help_on_request(*kinds: type[BaseSettings], arguments: list[str] | None = None) -> None:
    """Print the settings of `kinds` and end the process, if the arguments ask for help."""
    if {"-h", "--help"} & set(sys.argv[1:] if arguments is None else arguments):
        sys.stdout.write("\n".join(describe(kind) for kind in kinds))
        raise SystemExit(0)


def _problems(
    kind: type[BaseSettings], error: OSError | ValidationError | SettingsError
) -> list[dict[str, str]]:
    """Return the members of a log line for each problem; never a value, which may be a secret."""
    match error:
        case OSError():
            problem = (
                f"The services of this machine cannot share a secret: {error} Set "
                "HEDDLE_IDENTITY_SECRET to the same 32 characters or more for all services, or "
                "HEDDLE_LOCAL_SECRET_FILE to a file that their user can write."
            )
            return [{"problem": problem}]
        case ValidationError():
            return [
                _problem(_variable(kind, item["loc"]), item["msg"].removeprefix("Value error, "))
                for item in error.errors()
            ]
        case SecretFileError():
            return [{"problem": str(error)}]
        case SettingsError():  # its text names the field in quotes
            field = str(error).partition('"')[2].partition('"')[0]
            return [_problem(_variable(kind, (field,)), "Input should be JSON")]


def _problem(variable: str, problem: str) -> dict[str, str]:
    return {"setting": variable, "problem": problem} if variable else {"problem": problem}


def _service(kind: type[BaseSettings]) -> str:
    prefix = kind.model_config.get("env_prefix", "")
    return prefix.removeprefix("HEDDLE_").strip("_").lower() or "heddle"


def _with_secret(settings: SettingsT) -> SettingsT:
    """Return the settings with the secret of the file, if none is set and one is needed."""
    if not isinstance(settings, ServiceSettings):
        return settings
    if not isinstance(settings.identity_secret, LocalSecret):
        return settings
    secret = LocalSecret.in_file(settings.local_secret_file)
    return settings.model_copy(update={"identity_secret": secret})


def describe(kind: type[BaseSettings]) -> str:
    """Return one paragraph for each environment variable of `kind`."""
    lines = [f"{(kind.__doc__ or '').strip()}\n", "Environment variables:"]
    for name, field in kind.model_fields.items():
        shown = ",".join(field.default) if isinstance(field.default, tuple) else field.default
        default = "" if shown in (None, "", {}) else f" [{shown}]"
        lines.append(f"  {_variable(kind, (name,))}{default}\n      {field.description}")
        if issubclass(kind, SecretFileSettings) and is_secret(field):
            variable = variables(kind, name)[0]
            lines.append(f"  {variable}{SUFFIX}\n      {file_description(variable)}")
    return "\n".join(lines) + "\n"


def file_description(variable: str) -> str:
    """Return the description of the setting that names the file of a secret."""
    return f"A file with the value of {variable}. The line break at its end is left out."


def _variable(kind: type[BaseSettings], location: tuple[int | str, ...]) -> str:
    name, *inner = map(str, location or ("",))
    field = kind.model_fields.get(name)
    if field is not None and isinstance(field.validation_alias, str):
        name = field.validation_alias
    elif name and not name.startswith("HEDDLE_"):
        name = f"{kind.model_config.get('env_prefix', '')}{name}".upper()
    return ".".join([name, *inner])
