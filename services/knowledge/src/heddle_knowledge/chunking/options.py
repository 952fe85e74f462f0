"""The size of the passages of a collection."""

from collections.abc import Iterator
from dataclasses import dataclass

FEWEST, MOST = 100, 4_000
"""Characters that passages may aim at."""
MOST_PARENT = 16_000
"""Characters that parent texts may have."""
_TARGET, _PARENT = 450, 2_000


@dataclass(frozen=True, slots=True)
class Chunking:
    """The target sizes of chunks, in characters.

    Attributes:
        target: A chunk's size. The default is what the default model was trained on.
        overlap: How much of the chunk before is repeated.
        parent: What no parent text exceeds, unless its chunk alone does.
        whole_paragraphs: Whether a paragraph is cut only if it has more than twice the most that
            chunks may aim at.
    """

    target: int = _TARGET
    overlap: int = 0
    parent: int = _PARENT
    whole_paragraphs: bool = False

    @classmethod
    def of(cls, target: int, overlap: int, parent: int) -> "Chunking":
        """Return options where 0 stands for the default; a parent is never below the target."""
        target = target or _TARGET
        return cls(target, overlap, parent or max(_PARENT, target))

    @property
    def longest(self) -> int:
        """Characters that no chunk exceeds: by default about the 256 tokens the model reads."""
        return 2 * (MOST if self.whole_paragraphs else self.target)

    @property
    def crumb(self) -> int:
        """Characters of a piece that means little alone; the chunk beside it may grow by it."""
        return self.target * 4 // 15

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield which options cannot be used, by their names in the contract, and the rule."""
        if not FEWEST <= self.target <= MOST:
            yield "target_characters", f"must be between {FEWEST} and {MOST:,}"
        if not 0 <= self.overlap < self.target / 2:
            yield "overlap_characters", "must be 0 or more, and less than half of the target"
        if not self.target <= self.parent <= MOST_PARENT:
            yield "parent_characters", f"must be between the target and {MOST_PARENT:,}"


DEFAULT = Chunking()
"""The sizes for a collection that sets none."""
