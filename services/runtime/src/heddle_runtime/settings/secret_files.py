"""Secrets of settings in files: the variable `NAME_FILE` names a file with the value of `NAME`.

Compose, Kubernetes and systemd hand secrets over as files. Every setting whose value is a secret
has this variant: those of type `SecretStr`, also within a mapping, and those with `repr=False`.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsError,
)

SUFFIX = "_FILE"


class SecretFileError(SettingsError):
    """A file of a secret cannot be used. The text names the variable and the file."""


class SecretFileSettings(BaseSettings):
    """Settings whose secrets can be in files."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - has no files
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments, then the environment with the files of secrets."""
        return init_settings, _WithSecretFiles(settings_cls)


class _WithSecretFiles(EnvSettingsSource):
    """The environment, with the text of a file in place of each secret that it names one for."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        values = dict(super()._load_env_vars())
        for name, field in self.settings_cls.model_fields.items():
            for variable in variables(self.settings_cls, name) if is_secret(field) else ():
                if (text := secret_in_file(variable)) is not None:
                    if self.field_is_complex(field):
                        _require_json(variable, text)
                    values[variable.lower()] = text
        return values


def is_secret(field: FieldInfo) -> bool:
    """Return whether the value of a setting is a secret."""
    return not field.repr or SecretStr in _parts(field.annotation)


def variables(kind: type[BaseSettings], name: str) -> list[str]:
    """Return the variables of a setting, the main one first."""
    alias = kind.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [choice for choice in alias.choices if isinstance(choice, str)]
    if isinstance(alias, str):
        return [alias]
    return [f"{kind.model_config.get('env_prefix', '')}{name}".upper()]


def secret_in_file(variable: str) -> str | None:
    """Return the text of the file that `<variable>_FILE` names, without its last line break.

    None if no file is named.

    Raises:
        SecretFileError: The file cannot be read or is empty, or the variable is set as well.
    """
    name = f"{variable}{SUFFIX}"
    path = os.environ.get(name)
    if not path:  # Compose passes unset variables as empty ones
        return None
    if os.environ.get(variable):
        raise SecretFileError(f"{variable} and {name} are both set. Set one of them.")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SecretFileError(f"{name}: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise SecretFileError(f"{name}: {path} is not UTF-8") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise SecretFileError(f"{name}: {path} is empty")
    return text


def _require_json(variable: str, text: str) -> None:
    try:
        json.loads(text)
    except ValueError:  # never the text: it is a secret
        raise SecretFileError(
            f"{variable}{SUFFIX}: {os.environ[f'{variable}{SUFFIX}']} should hold JSON"
        ) from None


def _parts(annotation: object) -> Iterator[object]:
    yield annotation
    for inner in get_args(annotation):
        yield from _parts(inner)
