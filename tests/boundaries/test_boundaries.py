"""Every limit accepts what it allows, and refuses one more."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, ForwardRef, get_args, get_type_hints

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen
from boundaries.inventory import constants, limits
from boundaries.rows import ROWS, refuses, value
from heddle_devstack import StackSettings
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

_PACKAGES = ("heddle_gateway", "heddle_tools_service.tools")
_WITHOUT_ROW = Path(__file__).with_name("without_row.txt")
ALLOWED = frozenset(_WITHOUT_ROW.read_text().split())
"""Limits without a row. Most of them shorten what Heddle shows, or bound what it remembers."""


def test_a_new_limit_has_a_row() -> None:
    """A limit that refuses something needs a row in `rows.py`; others are listed in the file."""
    assert set(limits()) - ROWS.keys() - ALLOWED == set()


def test_the_list_of_limits_without_a_row_only_shrinks() -> None:
    assert {*constants()} >= ROWS.keys()
    assert {*limits()} >= ALLOWED, "remove those that are gone from without_row.txt"
    assert not ALLOWED & ROWS.keys(), "remove those that have a row from without_row.txt"


@pytest.mark.parametrize("limit", ROWS)
def test_a_limit_accepts_what_it_allows_and_refuses_one_more(limit: str) -> None:
    most, check = value(limit), ROWS[limit]
    assert [refuses(check, size) for size in (most - 1, most, most + 1)] == [False, False, True]


def edges(bound: Any, step: float) -> tuple[float, float] | None:
    """Return a value that a bound accepts and one that it refuses; None if it is no bound."""
    match bound:
        case Ge():
            return bound.ge, bound.ge - step  # type: ignore[return-value, operator] # a number
        case Le():
            return bound.le, bound.le + step  # type: ignore[return-value, operator] # a number
        case Gt():
            return bound.gt + step, bound.gt  # type: ignore[return-value, operator] # a number
        case Lt():
            return bound.lt - step, bound.lt  # type: ignore[return-value, operator] # a number
        case _:
            return None


def bounds() -> Iterator[Any]:
    """Yield the bounds of settings: the field, an accepted and a refused value."""
    for kind in get_type_hints(StackSettings).values():
        for name, field in kind.model_fields.items():
            for bound in field.metadata:
                pair = edges(bound, 1 if field.annotation is int else 1e-6)
                if pair is not None:
                    yield pytest.param(field, *pair, id=f"{kind.__name__}.{name} {bound}")


@pytest.mark.parametrize(("field", "accepted", "refused"), [*bounds()])
def test_a_setting_is_valid_up_to_its_bounds(
    field: FieldInfo, accepted: float, refused: float
) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
    assert adapter.validate_python(accepted) == accepted
    with pytest.raises(ValidationError):
        adapter.validate_python(refused)


def models(base: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    """Yield the models of the product: of REST bodies and queries, and of the options of tools."""
    for model in base.__subclasses__():
        if model.__module__.startswith("heddle_"):
            yield model
        yield from models(model)


def model_bounds() -> Iterator[Any]:
    """Yield the fields of models that have a largest size, and this size."""
    for package in _PACKAGES:
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    for model in dict.fromkeys(models()):
        for name, field in model.model_fields.items():
            for bound in field.metadata:
                if isinstance(bound, MaxLen) and not has_models(field.annotation):
                    identifier = f"{model.__module__}.{model.__name__}.{name}"
                    yield pytest.param(field, bound.max_length, id=identifier)


def has_models(annotation: Any) -> bool:
    """Return whether a field holds other models, which `is_too_long` cannot create."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return isinstance(annotation, ForwardRef | str) or any(map(has_models, get_args(annotation)))


def is_too_long(field: FieldInfo, size: int) -> bool:
    """Return whether a field refuses texts or lists because of their size."""
    adapter: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
    for content in ("a" * size, ["a"] * size, [str(number) for number in range(size)]):
        try:
            adapter.validate_python(content)
        except ValidationError as error:
            if any(
                each["type"].endswith("too_long") and not each["loc"] for each in error.errors()
            ):
                return True
    return False


@pytest.mark.parametrize(("field", "most"), [*model_bounds()])
def test_a_field_of_a_model_has_at_most_its_largest_size(field: FieldInfo, most: int) -> None:
    assert [is_too_long(field, size) for size in (most - 1, most, most + 1)] == [False, False, True]
