"""Copies a store: part by part, only what differs, and compares both sides at the end."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from heddle_knowledge.backup.items import Key
from heddle_knowledge.copying.interface import Digests, Part
from heddle_knowledge.copying.parts import (
    AttachedPart,
    CollectionPart,
    GraphPart,
    PagePart,
    PassagePart,
    UploadPart,
)
from heddle_knowledge.copying.sample_searches import compare
from heddle_knowledge.copying.side import Place, Side, open_source, open_target
from heddle_knowledge.errors import InvalidInputError, KnowledgeError, StorageError

PARTS: Sequence[Part] = (
    CollectionPart(),
    PassagePart(),
    GraphPart(),
    PagePart(),
    UploadPart(),
    AttachedPart("batches of files", batches=True),
    AttachedPart(
        "files of collections", batches=False
    ),  # last: a service that serves the target begins what is unfinished
)
SEARCHES = "searches"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a part is."""

    part: str
    done: int
    total: int
    """How many items have to be copied."""


@dataclass(frozen=True, slots=True)
class PartResult:
    """A part that is done.

    Attributes:
        part: Its name, or `SEARCHES` for the searches that were compared.
        items: How many the source has.
        copied: How many were new or different.
        deleted: How many the target had and the source has not.
        differences: What is not the same on both sides afterwards, for people.
    """

    part: str
    items: int
    copied: int
    deleted: int
    differences: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a part has to do."""

    part: Part
    source: Digests
    target: Digests

    @property
    def changed(self) -> list[Key]:
        return sorted(key for key, each in self.source.items() if self.target.get(key) != each)

    @property
    def extra(self) -> list[Key]:
        return sorted(self.target.keys() - self.source.keys())


async def copy_store(
    source: Place, target: Place, *, delete: bool = False, parts: Sequence[Part] = PARTS
) -> AsyncGenerator[Progress | PartResult]:
    """Copy a store, so that the target has the same content as the source.

    A copy that was interrupted is completed by the next one: what is equal already is not copied
    again. Nothing is changed in the source.

    Args:
        source: Where the store is.
        target: Where it goes; made if it is missing.
        delete: Also delete what the target has and the source has not.
        parts: What is copied, in this order.

    Yields:
        Progress, and the result of each part.

    Raises:
        InvalidInputError: There is no store at the source, both are the same, or the target has
            other content and `delete` is not set. Nothing has changed then.
        StorageError: One of them cannot be read or written.
    """
    if source.address == target.address or _same_folder(source, target):
        raise InvalidInputError("Both addresses name the same store. Name two.")
    async with open_source(source) as reading, open_target(target) as writing:
        try:
            async for event in _copied(reading, writing, parts, delete=delete):
                yield event
        except (*reading.engine.failures, *writing.engine.failures) as error:
            if isinstance(error, KnowledgeError):
                raise
            raise StorageError(
                "The copy was interrupted: one of the stores cannot be read or written "
                f"({type(error).__name__}: {error}). Repeat it."
            ) from error


async def _copied(
    source: Side, target: Side, parts: Sequence[Part], *, delete: bool
) -> AsyncGenerator[Progress | PartResult]:
    plans = [_Plan(part, await part.digests(source), await part.digests(target)) for part in parts]
    if not delete:
        for plan in plans:
            _refuse_extra(plan)
    for plan in plans:
        async for event in _run(plan, source, target):
            yield event
    yield await _searched(source, target)


async def _run(plan: _Plan, source: Side, target: Side) -> AsyncGenerator[Progress | PartResult]:
    part, changed, extra = plan.part, plan.changed, plan.extra
    if extra:
        await part.delete(extra, target)
    if changed:
        yield Progress(part.name, 0, len(changed))
        async for done in part.copy(changed, source, target):
            yield Progress(part.name, done, len(changed))
    after = await part.digests(target) if changed or extra else plan.target
    differing = [
        key
        for key in sorted(after.keys() | plan.source.keys())
        if after.get(key) != plan.source.get(key)
    ]
    yield PartResult(part.name, len(plan.source), len(changed), len(extra), _named(differing))


async def _searched(source: Side, target: Side) -> PartResult:
    searches = 0
    differences: list[str] = []
    known = await target.collections.registry.all()
    for record in await source.embedded():
        if record.id in known:
            compared = await compare(record, source, target)
            searches += compared.searches
            differences += compared.differences
    return PartResult(SEARCHES, searches, 0, 0, differences)


def _refuse_extra(plan: _Plan) -> None:
    if plan.extra:
        raise InvalidInputError(
            f"The target has {plan.part.name} that the source does not have: "
            f"{', '.join(_named(plan.extra))}. Name an empty target, or delete them with the copy."
        )


def _named(keys: Sequence[Key]) -> list[str]:
    names = ["/".join(key) for key in keys[:_NAMED]]
    if len(keys) > _NAMED:
        names.append(f"{len(keys) - _NAMED} more")
    return names


def _same_folder(source: Place, target: Place) -> bool:
    if source.folder is None or target.folder is None:
        return False
    return source.folder.resolve() == target.folder.resolve()
