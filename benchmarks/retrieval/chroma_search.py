"""Asks ChromaDB: run by `chroma.py` in an environment that has it and nothing of Heddle."""

import json
import sys
from pathlib import Path

import chromadb
import numpy as np

_BATCH = 2_000
_FOUND = 60


def main() -> None:
    """Read vectors from a folder, and write there the labels that are nearest to each question."""
    folder = Path(sys.argv[1])
    labels = json.loads((folder / "labels.json").read_text())
    passages, questions = (np.load(folder / f"{it}.npy") for it in ("passages", "questions"))
    client = chromadb.PersistentClient(str(folder / "chroma"))
    collection = client.create_collection("set", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(labels), _BATCH):
        ids = [str(at) for at in range(start, min(start + _BATCH, len(labels)))]
        collection.add(ids=ids, embeddings=passages[start : start + _BATCH])
    near = collection.query(query_embeddings=questions, n_results=_FOUND, include=[])["ids"]
    found = [[labels[int(at)] for at in ids] for ids in near]
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
