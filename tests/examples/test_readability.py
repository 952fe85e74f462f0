"""The tool that measures texts, in its own process of a running Heddle."""

from pathlib import Path

from examples.serving import plugin

EASY = "The cat sat on the mat. It was a warm day."
HARD = (
    "Notwithstanding considerable methodological heterogeneity, contemporary investigations "
    "predominantly substantiate longstanding theoretical expectations."
)


async def test_a_text_gets_its_lix_and_its_hardest_sentences(tmp_path: Path) -> None:
    async with plugin(tmp_path, "readability") as run:
        easy = await run(question=EASY)
        both = await run(arguments={"query": f"{EASY} {HARD}"}, config={"target": 50})
        empty = await run(question="...")

    # 11 words in 2 sentences, none of them long.
    assert easy["text"] == "LIX 6 (very easy), target 40."
    # 22 words in 3 sentences, 11 of them long.
    assert both["text"] == f"LIX 57 (hard), target 50.\n- {HARD}"
    assert empty["text"] == "LIX 0 (very easy), target 40."
