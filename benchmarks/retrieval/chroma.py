"""ChromaDB on the same documents and with the same vectors, in an environment of its own."""

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import numpy as np
import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
from heddle_knowledge.embedders.embedding import Kind, Vectors
from heddle_knowledge.embedders.local_embedders import load_model

from benchmarks.retrieval.labelled import Labelled

_VERSION = "chromadb==1.5.9"
_WINDOW = 450  # characters, as Heddle aims at
_BATCH = 8
_ANSWERING = Path(__file__).parent / "chroma_search.py"


def found(labelled: Labelled, folder: Path, kept: Path) -> list[list[str]]:
    """Return the labels that ChromaDB finds for every question, by meaning: it has no BM25.

    Args:
        labelled: The set; its PDFs are cut into windows of a page.
        folder: For files on the way.
        kept: For vectors, which take long to make.
    """
    passages = [each for name in labelled.documents for each in _passages(labelled, name)]
    texts = [text for _, text in passages]
    np.save(folder / "passages.npy", _embedded(labelled.model, texts, "passage", kept))
    asked = [question for question, _ in labelled.questions]
    np.save(folder / "questions.npy", _embedded(labelled.model, asked, "query", kept))
    (folder / "labels.json").write_text(json.dumps([label for label, _ in passages]))
    uv = shutil.which("uv") or str(Path(".heddle/uv/bin/uv").resolve())
    isolated = (uv, "run", "--no-project", "--quiet", "--with", _VERSION, "python")
    subprocess.run((*isolated, str(_ANSWERING), str(folder)), check=True)  # noqa: S603 (fixed words)
    answers: list[list[str]] = json.loads((folder / "found.json").read_text())
    return answers


def _embedded(name: str, texts: list[str], kind: Kind, kept: Path) -> Vectors:
    """Return the vectors of texts, shape [n, dim], made now or earlier."""
    mark = sha256("\0".join([name, kind, *texts]).encode(errors="replace")).hexdigest()
    file = kept / f"{mark}.npy"
    if not file.is_file():
        model = load_model(name)
        vectors = [
            model.embed(texts[at : at + _BATCH], kind) for at in range(0, len(texts), _BATCH)
        ]
        kept.mkdir(parents=True, exist_ok=True)
        np.save(file, np.concatenate(vectors))
    embedded: Vectors = np.load(file)
    return embedded


def _passages(labelled: Labelled, name: str) -> list[tuple[str, str]]:
    data, media_type = labelled.documents[name]
    if media_type != "application/pdf":
        return [(name, data.decode())]
    passages = []
    with pypdfium2.PdfDocument(data) as document:
        for number in range(len(document)):
            label = f"{name}#{number + 1}"
            text = "" if label in labelled.ignored else _text(document, number)
            passages += [
                (label, text[start : start + _WINDOW]) for start in range(0, len(text), _WINDOW)
            ]
    return passages


def _text(document: pypdfium2.PdfDocument, number: int) -> str:
    return str(document[number].get_textpage().get_text_bounded())
