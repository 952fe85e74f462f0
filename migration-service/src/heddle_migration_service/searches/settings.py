"""Settings of a knowledge service that searches LAMB's servers."""

from heddle_runtime.http.egress import NO_SECRET, ServerAddress, ServerToken
from heddle_runtime.settings.secret_files import SecretFileSettings
from pydantic import AliasChoices, Field
from pydantic_settings import SettingsConfigDict


class SearchSettings(SecretFileSettings):
    """Settings of a knowledge service that searches LAMB's servers."""

    model_config = SettingsConfigDict(
        env_prefix="HEDDLE_KNOWLEDGE_", populate_by_name=True, frozen=True, env_ignore_empty=True
    )

    kb_url: ServerAddress = Field(
        default="",
        description="Address of a LAMB knowledge-base server, for collections that this service "
        "does not hold. Organisations name their own in their settings; this is the operator's.",
    )
    kb_token: ServerToken = NO_SECRET
    kb_shared: bool = Field(
        default=False,
        description="Let organisations without a server of their own use the operator's, with the "
        "operator's token: they can then name any collection of it that LAMB's registry does not "
        "give to others.",
    )
    lamb_stores_url: ServerAddress = Field(
        default="",
        validation_alias=AliasChoices("HEDDLE_KNOWLEDGE_LAMB_STORES_URL", "LAMB_KB_SERVER_V2"),
        description="Address of the server of LAMB's knowledge stores; LAMB's name, "
        "LAMB_KB_SERVER_V2, is read as well. It serves organisations without a `knowledge_store` "
        "in their settings, each with its own key of the embeddings' provider.",
    )
    lamb_stores_token: ServerToken = Field(
        default=NO_SECRET,
        validation_alias=AliasChoices(
            "HEDDLE_KNOWLEDGE_LAMB_STORES_TOKEN", "LAMB_KB_SERVER_V2_TOKEN"
        ),
    )
