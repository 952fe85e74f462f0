"""Settings of the single process."""

from pathlib import Path
from typing import Literal

from heddle_runtime.settings.service import LogLevel
from heddle_runtime.telemetry.export import SpanSettings
from heddle_runtime.telemetry.metrics.endpoint import MetricsSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict


class DevstackSettings(MetricsSettings, SpanSettings):
    """Settings of the single process. The services in it read their own as well."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_DEVSTACK_", frozen=True)

    transport: Literal["local", "grpc"] = Field(
        default="local",
        description="How the services call each other: directly, or over gRPC as containers do. "
        "Both run the same code; direct calls are many times cheaper.",
    )
    examples: bool = Field(
        default=False,
        description="At start, ingest the documents that the assistants in "
        "examples/assistants search. `make up` sets this.",
    )
    log: Literal["json", "file"] = Field(
        default="json",
        description="Where the log goes: `json` for JSON lines on standard error, `file` for the "
        "same lines in HEDDLE_DEVSTACK_LOG_FILE. `make up` and `heddle up` use the file, and print "
        "on standard output where Heddle is.",
    )
    log_file: Path = Field(
        default=Path(".heddle/heddle.log"),
        description="The file of the log. At 10 MB it is renamed, with .1 at its end.",
    )
    log_level: LogLevel = Field(default="INFO", description="Least severe level that is logged.")
