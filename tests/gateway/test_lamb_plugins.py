"""The parameters of LAMB's plugins, which `/ingestion/plugins` and `/query/plugins` list."""

import itertools
import json
from typing import Any

import pytest
from gateway.shelves import SHARED_LOOP, Shelves
from gateway.test_lamb_jobs import jobs_until
from gateway.test_lamb_kb import ingested, new_collection
from heddle_migration_service.knowledge_server.ingestion_parameters import (
    FileParameters,
    read_parameters,
)
from runtime.examples import sampled

PARAGRAPHS = [
    " ".join(f"Paragraph {paragraph} has sentence {number} on sheds." for number in range(30))
    for paragraph in range(3)
]
TEXT = "\n\n".join(PARAGRAPHS)

pytestmark = pytest.mark.asyncio(loop_scope=SHARED_LOOP)


@pytest.fixture
def shelf(shelves_of_new_people: Shelves) -> Shelves:
    return shelves_of_new_people


async def passages(
    shelf: Shelves, plugin: str, parameters: dict[str, Any], text: str = TEXT
) -> list[dict[str, Any]]:
    """Ingest a text in a collection of its own and return its passages with their sections."""
    path = await new_collection(shelf, name=json.dumps([plugin, parameters]))
    form = {"plugin_name": plugin, "plugin_params": json.dumps(parameters)}
    file = {"file": ("sheds.md", text.encode())}
    response = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=file)
    assert response.status_code == 200, response.text
    address = f"{path}/ingestion-jobs/{response.json()['file_registry_id']}"
    job = (await jobs_until(shelf, address, "completed", "failed"))[-1]
    assert job["status"] == "completed", job
    assert (job["plugin_name"], job["plugin_params"]) == (plugin, parameters)
    query = {"query_text": "sheds", "top_k": 100, "plugin_params": {"return_parent_context": False}}
    address = f"{path}/query?plugin_name=parent_child_query"
    matches: list[dict[str, Any]] = (await shelf["ana"].post(address, json=query)).json()["results"]
    return sorted(matches, key=lambda each: each["metadata"]["chunk_index"])


def lengths(results: list[dict[str, Any]]) -> list[int]:
    return [len(each["data"]) for each in results]


@pytest.mark.parametrize(
    "plugin", sampled(["simple_ingest", "markitdown_ingest", "markitdown_plus_ingest"], 1)
)
async def test_the_size_of_chunks_takes_effect(shelf: Shelves, plugin: str) -> None:
    sizes = {}
    for size in (100, 400, 1_500):
        chunks = lengths(await passages(shelf, plugin, {"chunk_size": size}))
        assert max(chunks) <= 2 * size
        sizes[size] = len(chunks)
    assert sizes[100] > 2 * sizes[400] > 2 * sizes[1_500]


async def test_chunks_overlap_as_they_shall(shelf: Shelves) -> None:
    parameters = {"chunk_size": 200, "chunk_overlap": 100}
    texts = [each["data"] for each in await passages(shelf, "simple_ingest", parameters)]
    plain = [each["data"] for each in await passages(shelf, "simple_ingest", {"chunk_size": 200})]
    assert sum(map(len, texts)) > 1.2 * sum(map(len, plain))
    # The sentence that ends a chunk begins the next one, except at the ends of paragraphs.
    repeated = [
        before for before, after in itertools.pairwise(texts) if before.rpartition(". ")[2] in after
    ]
    assert len(repeated) > len(texts) / 2


async def test_each_splitter_takes_effect(shelf: Shelves) -> None:
    chunks = {}
    for splitter in (
        "RecursiveCharacterTextSplitter",
        "CharacterTextSplitter",
        "TokenTextSplitter",
    ):
        parameters = {"chunk_size": 100, "splitter_type": splitter}
        matches = await passages(shelf, "simple_ingest", parameters)
        chunks[splitter] = [each["data"] for each in matches]
    recursive, paragraphs, tokens = chunks.values()
    assert max(map(len, recursive)) <= 200
    assert paragraphs == PARAGRAPHS
    assert 200 < max(map(len, tokens)) <= 800
    assert len(paragraphs) < len(tokens) < len(recursive)


async def test_sizes_of_parents_and_children_take_effect(shelf: Shelves) -> None:
    small = {"parent_chunk_size": 600, "child_chunk_size": 150, "child_chunk_overlap": 50}
    large = {"parent_chunk_size": 6_000, "child_chunk_size": 600, "split_by_headers": True}
    parents = {}
    for name, parameters in (("small", small), ("large", large)):
        matches = await passages(shelf, "hierarchical_ingest", parameters)
        assert max(lengths(matches)) <= 2 * parameters["child_chunk_size"]
        parents[name] = max(len(each["metadata"]["parent_text"]) for each in matches)
        assert parents[name] <= parameters["parent_chunk_size"]
    assert parents["large"] > 2 * parents["small"]


async def test_a_description_and_a_citation_come_back_with_results(shelf: Shelves) -> None:
    notes = {"description": "About sheds.", "citation": "Weaver 2026"}
    for plugin in ("simple_ingest", "markitdown_plus_ingest"):
        [result] = await passages(shelf, plugin, notes, "A shed.")
        assert notes.items() <= result["metadata"].items()


FORM = {  # as LAMB's own tests and forms send them
    "simple_ingest": {"chunk_size": 500, "chunk_unit": "char", "chunk_overlap": 50},
    "markitdown_plus_ingest": {
        "chunk_size": "1000",
        "chunk_overlap": "200",
        "splitter_type": "RecursiveCharacterTextSplitter",
        "image_descriptions": "none",
        "image_description_mode": "none",
        "chunking_mode": "standard",
        "pages_per_chunk": 1,
        "split_on_heading": 2,
        "headings_per_chunk": 1,
        "description": "",
        "citation": None,
    },
    "hierarchical_ingest": {"split_by_headers": True, "child_chunk_overlap": 50},
}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"chunk_size": 50, "chunk_overlap": 10, "chunk_unit": "word"}, (300, 60)),
        ({"chunk_size": 2, "chunk_overlap": 1, "chunk_unit": "line"}, (160, 79)),
        ({"chunk_size": 10, "chunk_overlap": 5, "chunk_unit": "char"}, (100, 5)),
        ({"chunk_size": 10, "splitter_type": "TokenTextSplitter"}, (100, 0)),
    ],
)
async def test_sizes_in_words_and_lines_and_small_ones_become_characters(
    sizes: dict[str, Any], expected: tuple[int, int]
) -> None:
    chunking = read_parameters(FileParameters, sizes).splitting().chunking
    assert (chunking.target_characters, chunking.overlap_characters) == expected


@pytest.mark.parametrize("plugin", FORM)
async def test_what_lambs_clients_always_send_is_accepted(shelf: Shelves, plugin: str) -> None:
    path = await new_collection(shelf)
    form = {"plugin_name": plugin, "plugin_params": json.dumps(FORM[plugin])}
    file = {"file": ("sheds.md", TEXT.encode())}
    response = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=file)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    ("plugin", "parameters", "name"),
    sampled(
        [
            ("simple_ingest", {"chunk_size": 0}, "chunk_size"),
            ("simple_ingest", {"chunk_size": 4_001}, "chunk_size"),
            ("simple_ingest", {"chunk_size": "many"}, "chunk_size"),
            ("simple_ingest", {"chunk_size": 200, "chunk_overlap": 101}, "chunk_overlap"),
            ("simple_ingest", {"chunk_overlap": -1}, "chunk_overlap"),
            ("simple_ingest", {"chunk_size": 667, "chunk_unit": "word"}, "chunk_size"),
            ("simple_ingest", {"chunk_unit": "page"}, "chunk_unit"),
            ("simple_ingest", {"splitter_type": "Chainsaw"}, "splitter_type"),
            (
                "simple_ingest",
                {"chunk_size": 1_001, "splitter_type": "TokenTextSplitter"},
                "chunk_size",
            ),
            ("simple_ingest", {"chunk_siez": 400}, "chunk_siez"),
            ("simple_ingest", {"parent_chunk_size": 400}, "parent_chunk_size"),
            ("simple_ingest", {"citation": "x" * 513}, "citation"),
            ("markitdown_plus_ingest", {"image_descriptions": "llm"}, "image_descriptions"),
            ("markitdown_plus_ingest", {"chunking_mode": "by_page"}, "chunking_mode"),
            ("hierarchical_ingest", {"split_by_headers": False}, "split_by_headers"),
            ("hierarchical_ingest", {"child_chunk_size": 50}, "child_chunk_size"),
            ("hierarchical_ingest", {"parent_chunk_size": 200}, "parent_chunk_size"),
            ("hierarchical_ingest", {"parent_chunk_size": 16_001}, "parent_chunk_size"),
            ("hierarchical_ingest", {"child_chunk_overlap": 226}, "child_chunk_overlap"),
            ("url_ingest", {"url": "http://example.org", "depth": 2}, "depth"),
            ("youtube_transcript_ingest", {"video_url": "https://example.org/"}, "video_url"),
            ("youtube_transcript_ingest", {}, "video_url"),
            (
                "youtube_transcript_ingest",
                {"video_url": "abcdefghijk", "proxy_url": "http://10.0.0.1"},
                "proxy_url",
            ),
            (
                "youtube_transcript_ingest",
                {"video_url": "abcdefghijk", "chunk_duration": 0},
                "chunk_duration",
            ),
            ("base_ingest", {"text": " "}, "text"),
            ("base_ingest", {"text": "A shed.", "source_url": "javascript:x"}, "source_url"),
        ],
        10,
    ),
)
async def test_a_parameter_that_has_no_effect_is_refused_by_name(
    shelf: Shelves, plugin: str, parameters: dict[str, Any], name: str
) -> None:
    path = await new_collection(shelf)
    form = {"plugin_name": plugin, "plugin_params": json.dumps(parameters)}
    file = {"file": ("sheds.md", b" ")}
    responses = [await shelf["ana"].post(f"{path}/ingest-file", data=form, files=file)]
    plugins = {each["name"]: each for each in (await shelf["ana"].get("/ingestion/plugins")).json()}
    if plugins[plugin]["kind"] != "file-ingest":
        body = {"plugin_name": plugin, "plugin_params": parameters}
        responses.append(await shelf["ana"].post(f"{path}/ingest-base", json=body))
    for response in responses:
        assert response.status_code == 400, response.text
        assert name in response.json()["detail"]
    assert (await shelf["ana"].get(f"{path}/files")).json() == []


async def test_half_characters_do_no_harm(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    form = {"plugin_name": "base_ingest", "plugin_params": '{"text": "A shed \\ud800."}'}
    file = {"file": ("sheds.md", b"x")}
    response = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=file)
    assert response.status_code == 200, response.text
    body = '{"documents": [{"text": "\\ud800", "metadata": {"\\udfff": "\\ud800"}}]}'
    added = await shelf["ana"].post(f"{path}/documents", content=body)
    assert added.status_code == 200, added.text
    stores = (await shelf["ana"].get("/v1/vector_stores")).json()["data"]
    [store] = [each["id"] for each in stores]
    listed = (await shelf["ana"].get(f"/v1/vector_stores/{store}/files")).json()["data"]
    [stored] = [each["id"] for each in listed if each["id"].startswith("file-")]
    attributes = {"lamb_plugin_params": '{"a": "\\ud800"}'}
    for value in (attributes, {"lamb_plugin_params": "[["}, {"lamb_plugin_params": 1}):
        [job] = (await shelf["ana"].get(f"{path}/ingestion-jobs")).json()["items"]
        await jobs_until(shelf, f"{path}/ingestion-jobs/{job['id']}", "completed")
        changed = await shelf["ana"].post(
            f"/v1/vector_stores/{store}/files/{stored}", json={"attributes": value}
        )
        assert changed.status_code == 200, changed.text
        assert (await shelf["ana"].get(f"{path}/ingestion-jobs")).status_code == 200


@pytest.mark.parametrize("text", ["[1]", "{", '"a"', "[" * 100_000, "NaN"])
async def test_parameters_that_are_no_object_are_refused(shelf: Shelves, text: str) -> None:
    path = await new_collection(shelf)
    form, file = {"plugin_params": text}, {"file": ("sheds.md", b"A shed.")}
    response = await shelf["ana"].post(f"{path}/ingest-file", data=form, files=file)
    assert response.status_code == 400, response.text
    assert "plugin_params" in response.json()["detail"]


async def test_a_plugin_that_reads_files_needs_a_file(shelf: Shelves) -> None:
    path = await new_collection(shelf)
    for name in ("simple_ingest", "magic_ingest"):
        response = await shelf["ana"].post(f"{path}/ingest-base", json={"plugin_name": name})
        assert response.status_code == 400, response.text
        assert response.json()["error"]["param"] == "plugin_name"


@pytest.mark.exhaustive
async def test_listed_defaults_are_those_of_files_without_parameters(shelf: Shelves) -> None:
    plugins = (await shelf["ana"].get("/ingestion/plugins")).json()
    assert len({each["name"] for each in plugins}) == 7
    for plugin in plugins:
        for name, parameter in plugin["parameters"].items():
            assert {"type", "description", "default", "required"} <= parameter.keys(), name
    for plugin in plugins:
        if plugin["kind"] != "file-ingest":
            continue
        defaults = {
            name: parameter["default"]
            for name, parameter in plugin["parameters"].items()
            if parameter["default"] != ""
        }
        explicit, plain = [
            [(each["data"], each["metadata"]["parent_text"]) for each in matches]
            for matches in (
                await passages(shelf, plugin["name"], defaults),
                await passages(shelf, plugin["name"], {}),
            )
        ]
        assert explicit == plain
    [simple] = [each for each in plugins if each["name"] == "simple_ingest"]
    assert simple["parameters"]["splitter_type"]["enum"][0] == "RecursiveCharacterTextSplitter"
    assert (simple["parameters"]["chunk_size"]["max"], simple["supported_file_types"][0]) == (
        *(4_000,),
        "csv",
    )


@pytest.mark.exhaustive
async def test_parameters_of_searches_are_listed_and_take_effect(shelf: Shelves) -> None:
    plugins = {each["name"]: each for each in (await shelf["ana"].get("/query/plugins")).json()}
    assert set(plugins) == {"simple_query", "parent_child_query"}
    assert set(plugins["simple_query"]["parameters"]) == {"top_k", "threshold"}
    assert plugins["simple_query"]["parameters"]["top_k"]["default"] == 5
    assert plugins["parent_child_query"]["parameters"]["return_parent_context"]["type"] == "boolean"
    path = await new_collection(shelf)
    for number in range(8):
        await ingested(shelf, path, f"{number}.txt", f"A shed of number {number}.")

    async def count(plugin: str, **parameters: Any) -> int:
        body = {"query_text": "shed", "plugin_params": parameters}
        response = await shelf["ana"].post(f"{path}/query?plugin_name={plugin}", json=body)
        assert response.status_code == 200, response.text
        return int(response.json()["count"])

    for plugin in plugins:
        assert await count(plugin) == 5
        assert await count(plugin, top_k=2) == 2
        assert await count(plugin, top_k=8, threshold=0.999) < 8


@pytest.mark.parametrize(
    ("plugin", "parameters", "name"),
    [
        ("simple_query", {"return_parent_context": True}, "return_parent_context"),
        ("simple_query", {"rerank": True}, "rerank"),
        ("parent_child_query", {"top_k": 101}, "top_k"),
        ("parent_child_query", {"threshold": 2}, "threshold"),
    ],
)
async def test_a_parameter_that_a_search_does_not_have_is_refused_by_name(
    shelf: Shelves, plugin: str, parameters: dict[str, Any], name: str
) -> None:
    path = await new_collection(shelf)
    body = {"query_text": "shed", "plugin_params": parameters}
    response = await shelf["ana"].post(f"{path}/query?plugin_name={plugin}", json=body)
    assert response.status_code == 400, response.text
    assert name in response.json()["detail"]
