"""The stores of an installation."""

from dataclasses import dataclass
from typing import Self, get_type_hints

from heddle_assistants.app import AssistantsSettings
from heddle_connector.app import ConnectorSettings
from heddle_knowledge.provider_factory import Storage, get_vectordb
from heddle_knowledge.settings import KnowledgeSettings
from heddle_runtime.errors import InvalidRequestError
from heddle_tools_service.settings import ToolsSettings
from pydantic import ValidationError
from pydantic_settings import SettingsError


@dataclass(frozen=True, slots=True)
class Stores:
    """The settings of the services that store something."""

    assistants: AssistantsSettings
    knowledge: KnowledgeSettings
    connector: ConnectorSettings
    tools: ToolsSettings

    @classmethod
    def read(cls) -> Self:
        """Return the settings in the environment. Unlike a start, this creates no secret.

        Raises:
            InvalidRequestError: A setting is not valid.
        """
        try:
            return cls(**{name: kind() for name, kind in get_type_hints(cls).items()})
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
            )
            raise InvalidRequestError(f"The settings are not valid: {problems}") from None
        except SettingsError as error:
            raise InvalidRequestError(f"The settings are not valid: {error}") from None

    @property
    def collections(self) -> Storage:
        """The store of collections."""
        return get_vectordb(self.knowledge)
