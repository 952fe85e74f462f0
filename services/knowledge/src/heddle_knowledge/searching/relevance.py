"""Decides whether what a search found is about the question at all.

Similarity alone cannot tell a question of the same subject that the documents do not answer: most
of its words are there, but not the one that it is about. `benchmarks.retrieval.declining` measures
both together.
"""

import re
from collections.abc import Iterable, Mapping

from heddle_knowledge.collection.types import Passage
from heddle_knowledge.embedders.embedding import EmbedderInfo
from heddle_knowledge.engines.word_forms import word_forms

_WORDS = 0.5
"""The weight of the words beside the similarity."""
_NAME = 2.0
"""The weight of a word that ends in a digit, which is a name or a number."""
_STEM = 5
_WORD = re.compile(r"[^\W_]+")
_COMMON = """
a about al amb an and are as at au aux be been by can com combien comment como con cual cuando
cuál cuándo cuánto cuántos da dans das de del dem den der des did die dira do does donde du
dónde ein eine einen el els en er es est está et eta for from für gibt give ha had has hat have
hay hi how i ich if il in is ist it its je kann la las le les lo long los many may me mi mit
much must my no noiz nola non nor not of on one or ou our où para per por pour pourquoi puedo qu
quand que quel quelle quelles quels qui quin quina qué se should sin sind son sont su sur són
tell than that the their there these they this to two un una und une us von wann warum was we
welche welcher welches wer were what when where which who whom whose why wie will with wo would
y you your zein zenbat zer zu és
"""
"""Words that say nothing of what a question is about, in seven languages."""
_STOP_WORDS = frozenset(_COMMON.split())


def is_relevant(question: str, passages: Iterable[Passage], embedder: EmbedderInfo) -> bool:
    """Return whether the best of some passages is likely to answer a question."""
    if not embedder.threshold:
        return bool(list(passages))
    words = _WORD.findall(word_forms(question, "").lower())
    content = [word for word in words if word not in _STOP_WORDS] or words
    needed = {word[:_STEM]: _NAME if word[-1].isdigit() else 1.0 for word in content}
    return any(relevance(needed, each, embedder) >= embedder.threshold for each in passages)


def relevance(needed: Mapping[str, float], passage: Passage, embedder: EmbedderInfo) -> float:
    """Return how similar a passage is and how many words of a question it has, 0 to 1."""
    similarity = (passage.score - embedder.unrelated) / (1 - embedder.unrelated)
    words = _WORD.findall(word_forms(" ".join([*passage.heading[-1:], passage.text]), "").lower())
    present = {word[:_STEM] for word in words}
    share = sum(weight for stem, weight in needed.items() if stem in present)
    return (similarity + _WORDS * share / (sum(needed.values()) or 1.0)) / (1 + _WORDS)
