"""Searches by words know the language of a collection, on every engine alike."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from heddle_knowledge.engines.languages import IN_PAIRS, NO_LANGUAGE, STEMMED, language_of
from heddle_knowledge.errors import InvalidInputError
from heddle_knowledge.store import KnowledgeStore
from knowledge.store.places import Place
from runtime.examples import mostly_on, sampled

from benchmarks.retrieval.hashing_embedder import HashingEmbedder


@pytest.fixture
async def store(place: Place) -> AsyncIterator[KnowledgeStore]:
    async with place.store(HashingEmbedder(), quiet_seconds=1e6) as opened:
        yield opened


async def filled(store: KnowledgeStore, language: str, *texts: str) -> None:
    await store.collections.create("docs", language=language)
    for text in texts:
        async for _ in store.documents.ingest("docs", f"{text}.txt", text.encode()):
            pass


async def matching(store: KnowledgeStore, words: str) -> set[str]:
    found = await store.passages.search("docs", words, top_k=10, mode="text")
    return {passage.text for passage in found}


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("de", "Die Häuser am Hang", "von Haus zu Haus"),
        ("sv", "Byggnadernas höjd över marken", "hur hög är byggnaden"),
        ("fr", "Les locataires préviennent le voisinage", "le locataire prévenant"),
        ("ru", "Разрешение на строительство домов", "строительства дома"),
        ("en", "The fences of neighbours", "a neighbour's fence"),
    ],
)
async def test_another_form_of_a_word_is_found_in_its_language(
    store: KnowledgeStore, language: str, text: str, question: str
) -> None:
    await filled(store, language, text, "Xylophon")
    assert await matching(store, question) == {text}


@pytest.mark.parametrize("language", ["es", NO_LANGUAGE])
async def test_accents_do_not_matter(store: KnowledgeStore, language: str) -> None:
    await filled(store, language, "La biología celular", "La cançó única", "Xylophon")
    for question in ("biologia", "BIOLOGÍA", "biología"):
        assert await matching(store, question) == {"La biología celular"}
    assert await matching(store, "canco") == {"La cançó única"}


async def test_words_are_found_as_they_are_written_without_a_language(
    store: KnowledgeStore,
) -> None:
    await filled(store, NO_LANGUAGE, "The houses", "a house")
    assert await matching(store, "houses") == {"The houses"}
    assert await matching(store, "the") == {"The houses"}


@pytest.mark.parametrize(
    ("language", "text", "question"),
    sampled(
        [
            ("ja", "全文検索エンジンを作る", "検索の方法"),
            ("zh", "全文检索系统", "怎样检索"),
            ("ko", "새로운 검색엔진을 만들었습니다", "검색"),
            ("th", "ภาษาไทยเป็นภาษาที่มีระดับเสียง", "ระดับ"),
            ("ja", "PostgreSQL を使う", "postgresql"),
        ],
        2,
    ),
)
async def test_what_is_written_without_spaces_is_found_by_pairs_of_characters(
    store: KnowledgeStore, language: str, text: str, question: str
) -> None:
    await filled(store, language, text, "水")
    assert await matching(store, question) == {text}


@mostly_on("place", "folder", "postgresql")
async def test_every_language_that_is_offered_can_be_searched(store: KnowledgeStore) -> None:
    for language in (*STEMMED, *IN_PAIRS, NO_LANGUAGE):
        made = await store.collections.create(f"in-{language}", language=language)
        async for _ in store.documents.ingest(made.id, "a", b"Debian 12"):
            pass
        found = await store.passages.search(made.id, "debian", top_k=1, mode="text")
        assert [passage.text for passage in found] == ["Debian 12"], language


@mostly_on("place", "postgresql", "folder")
async def test_a_collection_that_changes_its_language_is_cut_anew(store: KnowledgeStore) -> None:
    await filled(store, "", "Die Häuser am Hang")
    assert await matching(store, "Haus") == set()
    await store.collections.change(
        replace(await store.collections.get("docs"), language="de", title="Häuser")
    )
    assert await matching(store, "Häuser") == {"Die Häuser am Hang"}
    await store.tidy("docs")
    assert await matching(store, "Haus") == {"Die Häuser am Hang"}
    async for _ in store.documents.ingest("docs", "b", b"Ein Haus am See"):
        pass
    assert await matching(store, "Haus") == {"Die Häuser am Hang", "Ein Haus am See"}


@mostly_on("place", "postgresql", "folder")
@pytest.mark.timeout(120)  # a process of the lowest priority, on a machine that may be busy
async def test_the_words_are_cut_anew_without_being_asked_to(place: Place) -> None:
    async with place.store(HashingEmbedder(), quiet_seconds=0.01) as store:
        await filled(store, "en", "Die Häuser am Hang")
        await store.collections.change(replace(await store.collections.get("docs"), language="de"))
        async with asyncio.timeout(100):
            while not await matching(store, "Haus"):
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("tag", "language"),
    [("", "en"), ("pt-BR", "pt"), ("nb", "no"), ("zh-Hant-TW", "zh"), ("DE_at", "de")],
)
def test_a_tag_means_the_language_of_its_first_part(tag: str, language: str) -> None:
    assert language_of(tag) == language


async def test_a_language_that_is_not_supported_is_refused_with_those_that_are(
    store: KnowledgeStore,
) -> None:
    with pytest.raises(InvalidInputError, match=r"'tlh' is not supported.* ar, .* zh, or 'und'"):
        await store.collections.create("docs", language="tlh")
