"""Passages, questions and vectors, the same for Heddle and for the others."""

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
from heddle_knowledge.embedders.embedding import MINILM, EmbedderInfo, Kind, Vectors
from heddle_knowledge.embedders.local_embedders import LOCAL_MODELS

QUESTIONS = 1_000
"""Different questions; their vectors are cached by every system."""
TOP_K = 3
PROMPT = "Text: {context}\nUsing the text, answer: {user_input}"
DIMENSION = LOCAL_MODELS[MINILM].dim
_WORDS = 8_000
_PASSAGE_WORDS = 60
_QUESTION_WORDS = 9
_SEED = 20261128


@cache
def _vocabulary() -> tuple[str, ...]:
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    syllables = [a + b for a in "bcdfglmnprstv" for b in "aeiou"]
    words = ("".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(3 * _WORDS))
    return tuple(dict.fromkeys(words))[:_WORDS]


def _text(chance: random.Random, count: int) -> str:
    words = _vocabulary()
    # Common words are as common as Zipf's law says.
    return " ".join(words[int(_WORDS ** chance.random()) - 1] for _ in range(count))


def passages(count: int) -> list[str]:
    """Return texts of 60 words."""
    chance = random.Random(count)  # noqa: S311 - likewise
    return [_text(chance, _PASSAGE_WORDS) for _ in range(count)]


def questions() -> list[str]:
    """Return questions of nine words."""
    chance = random.Random(_SEED + 1)  # noqa: S311 - likewise
    return [f"What is {_text(chance, _QUESTION_WORDS - 2)}?" for _ in range(QUESTIONS)]


def vectors(count: int, seed: int = 0) -> Vectors:
    """Return vectors of length 1, shape [count, 384]: searches do not depend on their meaning."""
    drawn = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    scaled: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return scaled


class RandomVectors:
    """Stands for the embedding model while collections are filled."""

    def info(self) -> EmbedderInfo:
        """Return the identity of the model that embeds the questions."""
        return LOCAL_MODELS[MINILM]

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return any vectors."""
        return vectors(len(texts), seed=len(texts[0]) if texts else 0)
