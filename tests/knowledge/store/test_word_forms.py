"""The forms in which words are indexed and looked up."""

import pytest
from heddle_knowledge.collection.types import Passage
from heddle_knowledge.embedders.embedding import MINILM
from heddle_knowledge.embedders.local_embedders import LOCAL_MODELS
from heddle_knowledge.engines.word_forms import word_forms
from heddle_knowledge.searching.relevance import is_relevant
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


@pytest.mark.parametrize(
    ("written", "language", "form"),
    [
        ("so\u00adft zero\u200bwidth", "en", "soft zerowidth"),
        ("ﬁnd Ｆｕｌｌ", "en", "find Full"),  # noqa: RUF001 - full-width letters
        ("10²⁴, 10^{24}, 10**24, 10⁻³", "en", "10^24, 10^24, 10^24, 10^-3"),
        ("H₂O, H_2O, CO_{2}", "en", "H2O, H2O, CO2"),
        ("m², m^2, file_2", "en", "m2, m2, file_2"),
        ("Muenchen, neue Maße", "de", "München, neue Masse"),
        ("Aarhus", "da", "århus"),
        ("Hausboot", "de", "Hausboot haus boot"),
        ("Gemüsegarten", "de", "Gemüsegarten gemüse garten Gemusegarten"),
        ("biología y canción", "es", "biología y canción biologia cancion"),
        ("ΛΌΓΟΣ", "el", "ΛΌΓΟΣ ΛΟΓΟΣ"),
        ("Hausboot", "en", "Hausboot"),
    ],
)
def test_spellings_of_a_word_have_one_form(written: str, language: str, form: str) -> None:
    assert word_forms(written, language) == form


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Erde wiegt 6·10²⁴ kg.", "10^24"),
        ("Wasser ist H₂O.", "H2O"),
        ("Das Hausboot liegt am Steg.", "Boot"),
        ("Die Züge nach München.", "Muenchen"),
    ],
)
async def test_a_search_knows_other_spellings_and_the_text_stays(
    place: Place, text: str, question: str
) -> None:
    async with place.store(HashingEmbedder()) as store:
        await store.collections.create("docs", language="de")
        for name, content in (("a.txt", text), ("b.txt", "Etwas anderes.")):
            async for _ in store.documents.ingest("docs", name, content.encode()):
                pass
        texts = await matching(store, question)

    assert texts == [text]


async def matching(store: KnowledgeStore, question: str) -> list[str]:
    passages = await store.passages.search("docs", question, top_k=3, mode="text")
    return [passage.text for passage in passages]


@pytest.mark.parametrize(
    ("question", "similarity", "relevant"),
    [
        ("What does the BC107 cost?", 0.3, True),
        ("What does the BC108 cost?", 0.3, False),
        ("How do bees make honey?", 0.2, False),
        ("What?", 0.6, True),
    ],
)
def test_a_passage_answers_by_similarity_and_words(
    question: str, similarity: float, *, relevant: bool
) -> None:
    text = "The transistor BC107 has a price of 22.7."
    passage = Passage(text, similarity, 0, "d", "t", "", (), None, 0, text)
    assert is_relevant(question, [passage], LOCAL_MODELS[MINILM]) is relevant
    assert not is_relevant(question, [], LOCAL_MODELS[MINILM])
