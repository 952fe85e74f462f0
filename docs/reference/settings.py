"""The settings of every service, from the classes that read them."""

import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from heddle_gateway.extensions import installed
from heddle_runtime.settings import addresses
from heddle_runtime.settings.secret_files import SUFFIX, SecretFileSettings, is_secret, variables
from heddle_runtime.settings.service import file_description
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from docs.reference import markdown

ROOT = Path(__file__).parents[2]
_DEFINES = re.compile(r"^class (\w+Settings)\(\w*Settings[,)]", re.MULTILINE)
SHARED = "All services"


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable."""

    group: str
    variable: str
    kind: str
    default: str
    description: str


def settings() -> list[Setting]:
    """Return the settings of all members, those that all services share first."""
    listed = {each.variable: each for each in _addresses()}
    listed |= {each.variable: each for kind in _classes() for each in _of(kind)}
    return sorted(listed.values(), key=lambda each: (each.group != SHARED, each.group))


@cache
def settings_by_package() -> dict[str, list[str]]:
    """Return the variables that each member reads, with those of its extensions, sorted."""
    by_package: dict[str, set[str]] = {}
    of_gateway = {each.settings_class for each in installed()}
    for kind in _classes():
        package = kind.__module__.partition(".")[0]
        if kind in of_gateway:
            package = "heddle_gateway"
        if kind.model_config.get("env_prefix") == "HEDDLE_KNOWLEDGE_":  # of its extensions, too
            package = "heddle_knowledge"
        variables = by_package.setdefault(package, set())
        variables |= {each.variable for each in _of(kind)}
    return {package: sorted(variables) for package, variables in by_package.items()}


def pages() -> dict[str, str]:
    """Return the page and `.env.example`."""
    groups: dict[str, list[Setting]] = {}
    for each in settings():
        groups.setdefault(each.group, []).append(each)
    sections = [
        f"## {group}\n\n"
        + markdown.table(
            ("Variable", "Type", "Default", "Description"),
            (
                (
                    markdown.code(each.variable),
                    each.kind,
                    markdown.code(each.default),
                    each.description,
                )
                for each in group_settings
            ),
        )
        for group, group_settings in groups.items()
    ]
    example = [
        f"# {group}\n"
        + "\n".join(f"# {each.description}\n# {each.variable}={each.default}\n" for each in listed)
        for group, listed in groups.items()
    ]
    introduction = (
        "Each service reads environment variables. `python -m heddle_gateway --help` and its like "
        "print those of one service. [env.example](env.example.txt) lists them all."
    )
    return {
        "settings.md": markdown.page("Settings", introduction, *sections),
        "env.example.txt": "\n".join(example),
    }


def _classes() -> Iterator[type[BaseSettings]]:
    """Return the classes of all members that read settings and that no other one extends."""
    workspace = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]
    kinds: set[type[BaseSettings]] = set()
    for member in sorted(each for name in workspace["members"] for each in ROOT.glob(name)):
        for file in (member / "src").rglob("*.py"):
            for name in _DEFINES.findall(file.read_text()):
                parts = file.relative_to(member / "src").with_suffix("").parts
                module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
                kinds.add(getattr(module, name))
    bases = {base for kind in kinds for base in inspect.getmro(kind)[1:]}
    yield from sorted(
        (kind for kind in kinds - bases if kind.model_fields), key=lambda each: each.__name__
    )


def _addresses() -> Iterator[Setting]:
    """Return where clients, the command `heddle` included, find each service."""
    for name, kind in vars(addresses).items():
        if name.endswith("Address"):
            field = get_args(kind)[1]
            default = getattr(addresses, name.removesuffix("Address").upper())
            yield Setting(SHARED, field.validation_alias, "text", default, field.description)


def _of(kind: type[BaseSettings]) -> Iterator[Setting]:
    prefix = kind.model_config.get("env_prefix", "")
    name = prefix.removeprefix("HEDDLE_").strip("_").replace("_", " ").capitalize()
    for field_name, field in kind.model_fields.items():
        alias = field.validation_alias
        variable = alias if isinstance(alias, str) else f"{prefix}{field_name}".upper()
        group = SHARED if isinstance(alias, str) and not variable.startswith(prefix) else name
        yield Setting(group, variable, _kind(field), _default(field), field.description or "")
        if issubclass(kind, SecretFileSettings) and is_secret(field):
            main = variables(kind, field_name)[0]
            yield Setting(group, f"{main}{SUFFIX}", "path", "", file_description(main))


def _kind(field: FieldInfo) -> str:
    annotation: Any = field.annotation
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    text = re.sub(r"\b(?:[a-z_]+\.)+", "", text.replace("NoneType", "None"))
    for python, shown in {
        "SecretStr": "secret", "Path": "path", "str": "text", "bool": "true or false",
        "int": "whole number", "float": "number",
    }.items():  # fmt: skip
        text = re.sub(rf"\b{python}\b", shown, text)
    text = re.sub(r"Optional\[(.*)\]$", r"\1", text).replace(" | None", "")
    text = re.sub(r"Literal\[([^]]*)\]", lambda values: _choices(values[1]), text)
    text = re.sub(r"Annotated\[([^],]+), [^]]*\]", r"\1", text)  # checks of one value
    text = re.sub(r"tuple\[(.*), \.\.\.\]", r"list of \1", text)
    text = re.sub(r"(?:frozenset|list)\[(\w+)\]", r"list of \1", text)
    text = re.sub(r"dict\[text, (.*)\]", r"JSON object of \1", text)
    text = re.sub(r"dict\[(`.*`), (\w+)\]", r"JSON object of \2 by \1", text)
    return ", ".join([text, *_bounds(field)])


def _choices(values: str) -> str:
    return " or ".join(markdown.code(value.strip("'")) for value in values.split(", "))


def _bounds(field: FieldInfo) -> list[str]:
    words = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}
    return [
        f"{shown} {getattr(rule, sign)}"
        for rule in field.metadata
        for sign, shown in words.items()
        if hasattr(rule, sign)
    ]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == "" or isinstance(value, SecretStr):
        return ""
    if isinstance(value, tuple | list | frozenset):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
