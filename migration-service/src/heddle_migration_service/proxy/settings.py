"""Settings of a gateway that knows LAMB."""

from pathlib import Path
from typing import Literal, Self

from heddle_gateway.settings import MIN_KEY_CHARACTERS
from heddle_runtime.redaction import register_secrets
from heddle_runtime.settings.secret_files import SecretFileSettings
from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

_PUBLIC_KEY = "0p3n-w3bu!"  # the key in LAMB's documentation
_PUBLIC_JWT_SECRET = "t0p-s3cr3t"  # noqa: S105 - what LAMB uses if nothing is set


class LambSettings(SecretFileSettings):
    """Settings of a gateway that runs in front of LAMB, or takes its place."""

    model_config = SettingsConfigDict(
        env_prefix="HEDDLE_LAMB_", populate_by_name=True, frozen=True, env_ignore_empty=True
    )

    url: str = Field(
        default="",
        pattern=r"^$|^https?://[A-Za-z0-9._\-\[\]:]+/?$",
        description="The address of LAMB's backend, as http://lamb:9099, if the gateway runs in "
        "front of it: LAMB answers all that Heddle does not serve, and /creator. By default there "
        "is no LAMB.",
    )
    bearer_token: SecretStr | None = Field(
        default=None,
        min_length=MIN_KEY_CHARACTERS,
        validation_alias=AliasChoices(
            *("HEDDLE_LAMB_BEARER_TOKEN", "LAMB_BEARER_TOKEN", "PIPELINES_BEARER_TOKEN")
        ),
        description="LAMB's API key, which may do everything. LAMB's names LAMB_BEARER_TOKEN and "
        "PIPELINES_BEARER_TOKEN work, too. Used only without HEDDLE_GATEWAY_API_KEY.",
    )
    jwt_secret: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices(
            *("HEDDLE_LAMB_JWT_SECRET", "LAMB_JWT_SECRET"),
            *("WEBUI_SECRET_KEY", "WEBUI_JWT_SECRET_KEY"),
        ),
        description="The secret with which LAMB signs the tokens of its users. With it, a token "
        "identifies the user of its e-mail address in Heddle, too. LAMB's names LAMB_JWT_SECRET, "
        "WEBUI_SECRET_KEY and WEBUI_JWT_SECRET_KEY work, too, in LAMB's order. Used only with "
        "HEDDLE_LAMB_URL.",
    )
    chats: Literal["lamb", "heddle"] = Field(
        default="lamb",
        description="Who answers trials on LAMB's pages. lamb: LAMB, which stores them as chats "
        "and knows no tools of Heddle. heddle: Heddle, with its tools, for users whom the token of "
        "LAMB identifies; LAMB does not store these chats.",
    )
    lti_key: str = Field(
        default="lamb",
        validation_alias=AliasChoices("HEDDLE_LAMB_LTI_KEY", "LTI_GLOBAL_CONSUMER_KEY"),
        description="The key of LAMB's links for all activities (LTI 1.1), if its database has "
        "none. LAMB's name LTI_GLOBAL_CONSUMER_KEY works, too.",
    )
    lti_global_secret: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("HEDDLE_LAMB_LTI_GLOBAL_SECRET", "LTI_GLOBAL_SECRET"),
        description="The secret of that key; by default the next one. LAMB's name "
        "LTI_GLOBAL_SECRET works, too.",
    )
    lti_secret: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("HEDDLE_LAMB_LTI_SECRET", "LTI_SECRET"),
        description="The secret of LAMB's links to one assistant (LTI 1.1). LAMB's name "
        "LTI_SECRET works, too. Without it, these links are refused.",
    )
    lti_platforms: Path | None = Field(
        default=None,
        description="A YAML or JSON file with a list of the learning platforms whose links of "
        "LTI 1.3 Heddle accepts.",
    )
    timeout_seconds: float = Field(
        default=300.0,
        gt=0,
        description="Seconds for which LAMB may send nothing before its response ends. A WebSocket "
        "ends if both sides send nothing for that time.",
    )
    max_body_bytes: int = Field(
        default=2 * 1024**3,
        gt=0,
        description="The maximum size of a request's body for LAMB. It is never held in memory as "
        "a whole.",
    )
    max_connections: int = Field(
        default=500,
        gt=0,
        description="Concurrent requests for LAMB, including WebSockets. Further ones are refused, "
        "so that a slow LAMB leaves room for Heddle's own requests.",
    )

    @field_validator("bearer_token", mode="before")
    @classmethod
    def _refuse_the_public_key(cls, value: object) -> object:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if text == _PUBLIC_KEY:
            raise ValueError(
                "is the key in LAMB's public documentation. Set another in LAMB_BEARER_TOKEN or "
                "HEDDLE_GATEWAY_API_KEY, and in Open WebUI"
            )
        return value

    @model_validator(mode="after")
    def _register_secrets(self) -> Self:
        register_secrets(self)
        return self

    @model_validator(mode="after")
    def _refuse_the_public_secret(self) -> Self:
        secret = self.jwt_secret
        if self.url and secret and secret.get_secret_value() == _PUBLIC_JWT_SECRET:
            message = (
                "HEDDLE_LAMB_JWT_SECRET, or LAMB's variable, is the secret in LAMB's "
                "published source, with which everybody can sign a token for every user. Set "
                "another in LAMB and here, or remove it here: then tokens of LAMB are valid in "
                "LAMB only"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _require_tokens_for_chats(self) -> Self:
        if self.url and self.chats == "heddle" and not self.jwt_secret:
            message = (
                "HEDDLE_LAMB_CHATS=heddle needs HEDDLE_LAMB_JWT_SECRET: without it, the users of "
                "LAMB's pages are not known here"
            )
            raise ValueError(message)
        return self
