"""The constraints of settings, of REST bodies and queries, and of the options of tools."""

from collections.abc import Iterator
from dataclasses import astuple
from importlib import import_module
from pkgutil import walk_packages
from typing import Annotated, Any, ForwardRef, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

_PACKAGES = (
    *("heddle_devstack", "heddle_gateway", "heddle_migration_service"),
    "heddle_tools_service.tools",
)
_SMALL = 1e-9


def models() -> Iterator[type[BaseModel]]:
    """Yield the models of the product that have fields."""
    for package in _PACKAGES:
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    yield from dict.fromkeys(each for each in _subclasses(BaseModel) if each.model_fields)


def _subclasses(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith("heddle_"):
            yield model
        yield from _subclasses(model)


def wrong_ranges(model: type[BaseModel]) -> Iterator[str]:
    """Yield the fields that refuse a number at a bound, or accept one beyond it."""
    for name, field in model.model_fields.items():
        for annotation, plain, bound in _constraints(field):
            pair = _edges(bound, is_whole=int in (plain, *get_args(plain)))
            if pair and [_accepts(annotation, number) for number in pair] != [True, False]:
                yield f"{name}: {bound}"


def wrong_sizes(model: type[BaseModel]) -> Iterator[str]:
    """Yield the fields that refuse a text or list of the largest size, or accept a larger one."""
    for name, field in model.model_fields.items():
        for annotation, plain, bound in _constraints(field):
            if isinstance(bound, MaxLen) and not _has_models(plain):
                most = bound.max_length
                sizes = (most - 1, most, most + 1)
                if [_is_too_long(annotation, size) for size in sizes] != [False, False, True]:
                    yield f"{name}: {bound}"


def _constraints(field: FieldInfo) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the constraints of a field and of its parts: the type with and without it, and it."""
    for constraint in field.metadata:
        yield field.rebuild_annotation(), field.annotation, constraint
    yield from _inner_constraints(field.annotation)


def _inner_constraints(annotation: Any) -> Iterator[tuple[Any, Any, Any]]:
    plain = annotation
    if get_origin(annotation) is Annotated:
        plain, *metadata = get_args(annotation)
        for each in metadata:
            for constraint in each.metadata if isinstance(each, FieldInfo) else [each]:
                yield annotation, plain, constraint
    for inner in get_args(plain):
        yield from _inner_constraints(inner)


def _edges(bound: Any, *, is_whole: bool) -> tuple[float, float] | None:
    """Return a value that a bound accepts and one that it refuses; None if it is no bound."""
    if not isinstance(bound, Ge | Le | Gt | Lt):
        return None
    number: Any = astuple(bound)[0]
    step = 1 if is_whole else max(_SMALL, abs(number) * _SMALL)
    inside = number + step if isinstance(bound, Ge | Gt) else number - step
    outside = number - step if isinstance(bound, Ge | Gt) else number + step
    return (number, outside) if isinstance(bound, Ge | Le) else (inside, number)


def _accepts(annotation: Any, number: float) -> bool:
    try:
        return bool(TypeAdapter(annotation).validate_python(number) == number)
    except ValidationError:
        return False


def _has_models(annotation: Any) -> bool:
    """Return whether a field holds other models, which `_is_too_long` cannot create."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return isinstance(annotation, ForwardRef | str) or any(map(_has_models, get_args(annotation)))


def _is_too_long(annotation: Any, size: int) -> bool:
    """Return whether a field refuses texts or lists because of their size."""
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    texts = [str(number) for number in range(size)]
    for content in ("a" * size, ["a"] * size, texts, dict.fromkeys(texts, "a")):
        try:
            adapter.validate_python(content)
        except ValidationError as error:
            if any(
                each["type"].endswith("too_long") and not each["loc"] for each in error.errors()
            ):
                return True
    return False
