"""Reads the settings of an organisation from their JSON text."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from heddle.account.v1 import account_pb2 as pb
from heddle_conversion.contract_tools import CHANGES
from heddle_runtime.contract.host_lists import NO_HOST, host_problems

from heddle_assistants.accounts.secret_members import PIN, Config, masked

_SETUP = "default"
_DEFAULTS = "assistant_defaults"
# Providers in settings whose connector has another name.
_CONNECTORS = {"google": "banana_img"}
_MCP, _SEARCH = "mcp_servers", "search_servers"
STORE = "knowledge_store"
RETENTION = "retention"
PROVIDERS = "providers."
"""The prefix of the names of providers among `servers`."""
_NO = {"false", "0", "no", "off", ""}
_SECRET_FIELDS = ("api_key", "token")
_ADDRESS_FIELDS = ("base_url", "url")
CONVERSATIONS = "conversations_days"
_MEMBERS = ("uploads_days", "images_days", "usage_days", CONVERSATIONS, "questions_days")
_MAX_DAYS = 36_500
_CHAT = {"notice": 1_000, "link": 500, "frame_hosts": 2_000, "banner": 500}
"""The members of `chat`, and how many characters each has at most."""
_LINK = re.compile(r"https?://[^\s\"'<>]+")


def resolved(
    slug: str, own: Config, system: Config, *, reaching: bool = True
) -> pb.ResolveSettingsResponse:
    """Return the settings of an organisation.

    Args:
        slug: The organisation.
        own: Its settings; decrypted, if `reaching`.
        system: What the system has set up. Only names of models are taken from it, and only of
            providers that the system does not pay for.
        reaching: Whether to return the addresses and credentials of its servers.
    """
    response = pb.ResolveSettingsResponse(organization=slug)
    setup = _setup(own)
    if reaching:
        _add_servers(response, setup)
    response.assistant_defaults_json = _assistant_defaults(setup)
    response.default_model = _model(setup, system, "global_default_model")
    response.small_model = _model(setup, system, "small_fast_model")
    response.embedding_model = _first(setup, "embedding_model")
    response.reranking_model = _first(setup, "reranking_model")
    response.traces_without_content = _object(setup, "telemetry").get("content", True) is not True
    response.on_change = CHANGES.get(str(on_change_setting(own)), CHANGES["never"])
    if (chat := _chat(own)) != pb.ChatSettings():
        response.chat.CopyFrom(chat)
    response.etag = hashlib.sha256(response.SerializeToString(deterministic=True)).hexdigest()[:32]
    return response


def _add_servers(response: pb.ResolveSettingsResponse, setup: Mapping[str, Any]) -> None:
    providers = _object(setup, "providers")
    for name, provider in providers.items():
        connector = _CONNECTORS.get(name, name)
        replaced = connector != name and connector in providers
        if isinstance(provider, Mapping) and provider and not replaced:
            response.providers[_text(connector)].CopyFrom(_provider(provider))
    if knowledge := _knowledge(setup):
        response.knowledge.CopyFrom(knowledge)
    if store := _server(_object(setup, STORE)):
        response.knowledge_store.CopyFrom(store)
    if moodle := _moodle(_object(setup, "moodle")):
        response.moodle.CopyFrom(moodle)
    for name, mcp_server in _object(setup, _MCP).items():
        if isinstance(mcp_server, Mapping) and (url := _first(mcp_server, "url").rstrip("/")):
            server = pb.McpServer(
                url=url, token=_first(mcp_server, "token", "api_key"), pins=_pins(mcp_server)
            )
            response.mcp_servers[_text(name)].CopyFrom(server)
    for name, search in _object(setup, _SEARCH).items():
        if isinstance(search, Mapping) and (url := _first(search, "url").rstrip("/")):
            engine = pb.SearchServer(
                kind=_first(search, "kind"),
                url=url,
                api_key=_first(search, "api_key", "token"),
                grpc_url=_first(search, "grpc_url").rstrip("/"),
                collections=_names(search.get("collections")),
            )
            response.search_servers[_text(name)].CopyFrom(engine)


def prices(config: Config) -> object:
    """Return the member with prices of models; empty if there is none."""
    return _setup(config).get("prices", {})


def output_hosts(config: Config) -> str:
    """Return the hosts to which answers of an organisation's assistants may link."""
    value = output_hosts_setting(config)
    return value if isinstance(value, str) else "none"


def on_change_setting(config: Config) -> object:
    """Return the member about tools with side effects, valid or not."""
    return _setup(config).get("on_change", "")


def output_hosts_setting(config: Config) -> object:
    """Return the member with hosts, valid or not."""
    return _setup(config).get("output_hosts", "")


def model_names_setting(config: Config) -> object:
    """Return the member with names of models for assistants, valid or not."""
    return _setup(config).get("model_names", {})


def renamed(config: Config, name: str) -> str:
    """Return the assistant that an organisation offers under the name of a model.

    A name with `*` at its end stands for all that begin like it; the longest one is used. Empty if
    there is none.
    """
    setting = model_names_setting(config)
    names = setting if isinstance(setting, Mapping) else {}
    beginnings = [each for each in names if each[-1:] == "*" and name.startswith(each[:-1])]
    target = names.get(name if name in names else max(beginnings, key=len, default=""))
    return target if isinstance(target, str) else ""


def chat_setting(config: Config) -> object:
    """Return the member about the chat, valid or not."""
    return _setup(config).get("chat", {})


def chat_problems(config: Config) -> Iterator[str]:
    """Yield the faults of the member."""
    setting = chat_setting(config)
    if not isinstance(setting, Mapping) or setting.keys() - _CHAT.keys():
        yield f"must be an object with members of {', '.join(_CHAT)}"
        return
    for name, longest in _CHAT.items():
        value = setting.get(name, "")
        if not isinstance(value, str) or len(value) > longest:
            yield f"{name!r} must be a text of at most {longest:,} characters"
        elif name == "link" and value and not _LINK.fullmatch(value):
            yield "'link' must be an address that begins with https:// or http://"
        elif name == "frame_hosts":
            yield from (problem for _, problem in host_problems(value))


def _chat(config: Config) -> pb.ChatSettings:
    setting = chat_setting(config)
    chat = setting if isinstance(setting, Mapping) and not [*chat_problems(config)] else {}
    hosts = _first(chat, "frame_hosts").lower().split()
    retention = retention_of("", config) or pb.Retention()
    limited = retention.HasField("conversations_days")
    return pb.ChatSettings(
        notice=_first(chat, "notice"),
        link=_first(chat, "link"),
        frame_hosts=[each for each in hosts if each != NO_HOST],
        stores_nothing=limited and retention.conversations_days == 0,
        banner=_first(chat, "banner"),
        questions_read=retention.questions_days > 0,
    )


def telemetry_setting(config: Config) -> object:
    """Return the member about traces, valid or not."""
    return _setup(config).get("telemetry", {})


def retention_setting(config: Config) -> object:
    """Return the member about the retention of data, valid or not."""
    return _setup(config).get(RETENTION, {})


def only_prices(config: Config) -> Config:
    """Return the settings with nothing but the prices, at their places."""
    inner = _object(_object(config, "setups"), _SETUP)
    own = {"prices": config["prices"]} if "prices" in config else {}
    return {"setups": {_SETUP: {"prices": inner.get("prices", {})}}, **own}


def with_prices(config: Config, prices: Config) -> Config:
    """Return the settings with these prices and no others, at either of the two places."""
    setups = _object(config, "setups")
    inner = {name: each for name, each in _object(setups, _SETUP).items() if name != "prices"}
    return {**config, "setups": {**setups, _SETUP: inner}, "prices": prices}


def servers(settings: pb.ResolveSettingsResponse) -> Iterator[tuple[str, str, str]]:
    """Yield a name, an address and a secret for each server that is set up."""
    raw_settings: dict[str, Any] = {
        f"{PROVIDERS}{name}": p for name, p in settings.providers.items()
    }
    if settings.HasField("knowledge"):
        raw_settings["knowledge_base"] = settings.knowledge
    if settings.HasField("knowledge_store"):
        raw_settings[STORE] = settings.knowledge_store
    if settings.HasField("moodle"):
        raw_settings["moodle"] = settings.moodle
    raw_settings |= {f"{_MCP}.{name}": server for name, server in settings.mcp_servers.items()}
    for name, search in settings.search_servers.items():
        raw_settings[f"{_SEARCH}.{name}"] = search
        if search.grpc_url:
            raw_settings[f"{_SEARCH}.{name}.grpc_url"] = pb.SearchServer(
                url=search.grpc_url, api_key=search.api_key
            )
    for name, server in raw_settings.items():
        yield name, _one_of(server, _ADDRESS_FIELDS), _one_of(server, _SECRET_FIELDS)


def knowledge_server(config: Config) -> str:
    """Return the address of the knowledge-base server that is set up; empty if there is none."""
    knowledge = _knowledge(_setup(config))
    return knowledge.url if knowledge else ""


def _assistant_defaults(setup: Mapping[str, Any]) -> str:
    """Return the JSON text of the defaults, with secrets that authors wrote there masked."""
    defaults = masked(_object(setup, _DEFAULTS))
    return json.dumps(defaults) if defaults else ""


def _one_of(message: Any, fields: tuple[str, ...]) -> str:  # noqa: ANN401 - one of several messages
    return next(str(getattr(message, name)) for name in fields if hasattr(message, name))


def _setup(config: Config) -> Mapping[str, Any]:
    """Return `setups.default` with the members beside `setups`, which come first."""
    setup = dict(_object(_object(config, "setups"), _SETUP))
    for name, value in config.items():
        setup[name] = {**_object(setup, name), **value} if isinstance(value, Mapping) else value
    return setup


def _provider(provider: Mapping[str, Any]) -> pb.Provider:
    return pb.Provider(
        base_url=_first(provider, "base_url", "endpoint", "url").rstrip("/"),
        api_key=_first(provider, "api_key"),
        models=_names(provider.get("models")),
        default_model=_first(provider, "default_model"),
        enabled=_flag(provider.get("enabled", True)),
    )


def _knowledge(setup: Mapping[str, Any]) -> pb.KnowledgeServer | None:
    return _server({**_object(setup, "knowledge_base"), **_object(setup, "kb_server")})


def _server(knowledge: Mapping[str, Any]) -> pb.KnowledgeServer | None:
    url = _first(knowledge, "server_url", "url").rstrip("/")
    token = _first(knowledge, "api_token", "api_key", "token")
    return pb.KnowledgeServer(url=url, token=token) if url else None


def _moodle(moodle: Mapping[str, Any]) -> pb.Moodle | None:
    url = _first(moodle, "url", "api_url", "base_url").rstrip("/")
    token = _first(moodle, "token", "api_token", "wstoken", "api_key")
    return pb.Moodle(url=url, token=token) if url else None


def _model(setup: Mapping[str, Any], system: Config, name: str) -> str:
    if own := _reference(setup, name):
        return "/".join(own)
    theirs = _setup(system)
    borrowed = _reference(theirs, name)
    return "/".join(borrowed) if borrowed and _is_free(*borrowed, setup, theirs) else ""


def _reference(setup: Mapping[str, Any], name: str) -> tuple[str, str] | None:
    selection = _object(setup, name)
    provider, model = _first(selection, "provider"), _first(selection, "model")
    return (provider, model) if provider and model else None


def _is_free(
    provider: str, model: str, setup: Mapping[str, Any], theirs: Mapping[str, Any]
) -> bool:
    """Return whether an organisation may use a system's model at no cost to the system."""
    if own := _object(_object(setup, "providers"), provider):
        known = _provider(own)
        return known.enabled and (not known.models or model in known.models)
    return not _object(_object(theirs, "providers"), provider)


def _pins(mcp_server: Mapping[str, Any]) -> dict[str, str]:
    pins = _object(mcp_server, "pins").items()
    return {_text(name): pin for name, pin in pins if isinstance(pin, str) and PIN.fullmatch(pin)}


def _object(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a member that should be an object, or an empty one: people edit this by hand."""
    value = config.get(name)
    return value if isinstance(value, Mapping) else {}


def _first(settings: Mapping[str, Any], *names: str) -> str:
    """Return the text of the first member that has a text or a number."""
    texts = (
        _text(value)
        for name in names
        if isinstance(value := settings.get(name), str | int | float)
        and not isinstance(value, bool)
    )
    return next(filter(None, texts), "")


def _names(value: object) -> list[str]:
    match value:
        case str():
            names: list[object] = list(value.split(","))
        case list() | Mapping():
            names = list(value)
        case _:
            names = []
    return [text for name in names if isinstance(name, str) and (text := _text(name))]


def _text(value: str | float) -> str:
    """Return a text that protobuf accepts: JSON may contain lone surrogates."""
    return str(value).strip().encode("utf-8", "replace").decode()


def _flag(value: object) -> bool:
    return value.strip().lower() not in _NO if isinstance(value, str) else bool(value)


def retention_problems(config: Config) -> Iterator[str]:
    """Yield the faults of the member."""
    setting = retention_setting(config)
    if not isinstance(setting, Mapping):
        yield "must be an object, such as {'uploads_days': 365}"
        return
    for name, value in setting.items():
        if name not in _MEMBERS:
            yield f"{name[:60]!r} is not one of {', '.join(_MEMBERS)}"
        elif not _is_valid(name, value):
            yield f"{name!r} must be a whole number from {_least(name)} to {_MAX_DAYS:,}"


def retention_of(slug: str, config: Config) -> pb.Retention | None:
    """Return the limits of an organisation, None if it has none that is valid."""
    setting = retention_setting(config)
    days = setting if isinstance(setting, Mapping) else {}
    valid = {name: int(days[name]) for name in _MEMBERS if _is_valid(name, days.get(name))}
    return pb.Retention(organization=slug, **valid) if valid else None


def limits_in(config: str) -> pb.Retention:
    """Return the limits in the text of settings."""
    known = retention_of("", json.loads(config)) if f'"{RETENTION}"' in config else None
    return known or pb.Retention()


def _is_valid(name: str, value: object) -> bool:
    return type(value) is int and _least(name) <= value <= _MAX_DAYS


def _least(name: str) -> int:
    return 0 if name == CONVERSATIONS else 1
