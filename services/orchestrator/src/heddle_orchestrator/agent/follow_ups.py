"""Completes questions that refer back to earlier ones, such as "And on Sundays?"."""

from collections.abc import Sequence

from heddle_orchestrator.agent.word_matching import content_words, word_set, words

_MAX_QUESTIONS = 4
_MAX_CHARS = 1_000
"""The maximum length of the earlier questions together."""
_MIN_CONTENT_WORDS = 3
"""A question with fewer words is about something that an earlier one named."""
# Pronouns and the like in the languages of Heddle's users, without those that have another common
# meaning in one of these languages, such as "that", "there", "es", "le" and "sie".
_REFERRING_WORDS = word_set(
    """
    it its they them their theirs he him his she her hers these those then ones other others another
    else same too also either instead again
    él ella ello ellos ellas esto eso ese esa esos esas aquel aquella allí ahí entonces otro otra
    otros otras mismo misma también tampoco además
    ell ells elles això allà llavors altre altra altres mateix mateixa també tampoc
    elle ils lui leur leurs cela ça ceci celui celle ceux celles alors autre autres même aussi
    er ihm ihn seine seinen jener jene dort dann andere anderen anderer anderes gleiche selbe auch
    """
)


def question_in_conversation(questions: Sequence[str]) -> str:
    """Return the last question, after the earlier ones that it refers back to, in their order.

    A question refers back if it has few words of content or contains a pronoun. It contains words
    of the user only.

    Args:
        questions: The user's questions, oldest first.
    """
    if not questions:
        return ""
    chain = [questions[-1]]
    chars = 0
    for earlier in reversed(questions[:-1]):
        chars += len(earlier)
        if len(chain) == _MAX_QUESTIONS or chars > _MAX_CHARS or not _refers_back(chain[-1]):
            break
        chain.append(earlier)
    return " ".join(reversed(chain))


def _refers_back(question: str) -> bool:
    few = len(content_words(question)) < _MIN_CONTENT_WORDS
    return few or not _REFERRING_WORDS.isdisjoint(words(question))
