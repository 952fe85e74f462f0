"""Metadata as people and programs may have left it."""

from typing import Any

from heddle_conversion import LegacyColumns
from hypothesis import strategies as st

# Lone halves of surrogate pairs included: JSON has them, UTF-8 does not.
TEXTS = st.one_of(st.text(max_size=8), st.text(st.characters(), max_size=4))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PROCESSORS = st.sampled_from(
    [
        *("simple_rag", "context_aware_rag", "hierarchical_rag", "rubric_rag", "single_file_rag"),
        *("knowledge_store_rag", "library_file_rag", "no_rag", "No RAG", " no rag ", "owi_rag"),
        *("", "SIMPLE_RAG", "rubric", "no_tool"),
    ]
)
SLOTS = st.sampled_from(["context", "1_context", "{rubric}", "a b", "user_input", "7", ""])
CONFIGS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "collections": st.lists(st.sampled_from(["1", 2, None]), max_size=3),
            "top_k": st.sampled_from([1, 21, "4", None, 0, 2.0]),
            "rubric_id": SCALARS,
            "format": st.sampled_from(["markdown", "json", "xml"]),
            "file_path": st.sampled_from(["1/notes.md", ""]),
        },
    ),
    JSON,
)
_ENTRY = {
    "id": st.sampled_from(["a", "a_2", "simple_rag", "", 5]),
    "type": st.one_of(PROCESSORS, SCALARS),
    "plugin": PROCESSORS,
    "mode": st.sampled_from(["augment", "function", "agent", "x"]),
    "enabled": st.one_of(st.booleans(), SCALARS),
    "slot": SLOTS | JSON,
    "placeholder": SLOTS | JSON,
    "config": CONFIGS,
    "on_failure": st.sampled_from(["note", "omit", "fail", "x", 1]),
    "timeout": st.one_of(st.floats(0, 100), SCALARS),
    "assistant_id": SCALARS,
    "_legacy": JSON,
    "extra": JSON,
}
ENTRIES = st.one_of(
    st.sampled_from(["weather", "moodle", ""]),
    st.fixed_dictionaries({}, optional=_ENTRY),
    JSON,
)
_MEMBERS = {
    "prompt_processor": st.sampled_from(["simple_augment", "default", "", None, 5]),
    "connector": st.sampled_from(["openai", "openai_tools", " ", None, []]),
    "llm": st.sampled_from(["gpt-4", "gpt-4o-mini", ""]) | SCALARS,
    "rag_processor": PROCESSORS | JSON,
    "rubric_id": st.sampled_from(["r-1", ""]) | JSON,
    "rubric_format": st.sampled_from(["markdown", "json", "xml", " JSON "]) | JSON,
    "file_path": st.sampled_from(["1/notes.md", ""]) | JSON,
    "tools": st.lists(ENTRIES, max_size=4) | JSON,
    "document_rag": PROCESSORS | JSON,
    "library_id": SCALARS,
    "item_id": SCALARS,
    "capabilities": st.fixed_dictionaries({}, optional={"vision": SCALARS, "more": JSON}) | JSON,
    "quota": JSON,
    "assistant_type": st.sampled_from(["multi_tool", "classic"]),
    "orchestrator": st.sampled_from(["sequential", "parallel", "", 5]),
    "verbose": SCALARS,
    "cite_sources": SCALARS,
    "title": SCALARS,
    "_legacy": JSON,
}
METADATA: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda known, other: {**other, **known},
    st.fixed_dictionaries({}, optional=_MEMBERS),
    st.dictionaries(TEXTS, JSON, max_size=2),
)
"""Of version 1, or of none."""
STAMPED = st.builds(
    lambda metadata, version: {**metadata, "_format_version": version},
    METADATA,
    st.sampled_from([1, 2, 2, "2", 2.0]),
)
"""Of a version that is written down, also of one that the old code wrote down too early."""
COLUMNS = st.builds(
    LegacyColumns,
    st.none() | st.integers(-5, 30) | st.sampled_from(["3", "x", "", " 7 "]),
    st.none() | st.sampled_from(["", "1,2", " 4, 7,, ", "kb_uuid_1"]) | st.text(max_size=6),
)
