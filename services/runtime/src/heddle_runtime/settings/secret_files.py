"""Secrets of settings in files: the variable `NAME_FILE` names a file with the value of `NAME`.

Compose, Kubernetes and systemd hand secrets over as files. Every setting whose value is a secret
has this variant: those of type `SecretStr`, also within a mapping, and those with `repr=False`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsError

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
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - nothing else is read
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the files of secrets before the environment."""
        return init_settings, _SecretFiles(settings_cls), env_settings


class _SecretFiles(PydanticBaseSettingsSource):
    """Reads the file of each secret that the environment names one for."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value in the file of a setting, its key, and whether it is JSON."""
        for variable in variables(self.settings_cls, field_name):
            if (text := secret_in_file(variable)) is not None:
                return text, variable, self.field_is_complex(field)
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values of all files.

        Raises:
            SecretFileError: A file cannot be used.
        """
        values: dict[str, Any] = {}
        for name, field in self.settings_cls.model_fields.items():
            if not is_secret(field):
                continue
            text, variable, is_json = self.get_field_value(field, name)
            if text is not None:
                key = variable if field.validation_alias else name
                values[key] = _json(variable, text) if is_json else text
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


def _json(variable: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:  # never the text: it is a secret
        raise SecretFileError(
            f"{variable}{SUFFIX}: {os.environ[f'{variable}{SUFFIX}']} should hold JSON"
        ) from None


def _parts(annotation: object) -> Iterator[object]:
    yield annotation
    for inner in get_args(annotation):
        yield from _parts(inner)
