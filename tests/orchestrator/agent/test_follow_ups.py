"""Questions that refer back to earlier ones."""

import pytest
from heddle_orchestrator.agent.state import question_in_conversation

OPEN = "When does the public library open on Mondays?"


@pytest.mark.parametrize(
    "text",
    [
        "And on Sundays?",
        "Why?",
        "Until when is it open during the summer holidays?",
        "Which works did she finish before the war ended?",
        "I els diumenges?",
        "¿Y los domingos?",
        "Und am Sonntag?",
        "Et le dimanche ?",
    ],
)
def test_a_question_that_refers_back_follows_the_earlier_one(text: str) -> None:
    assert question_in_conversation([OPEN, text]) == f"{OPEN} {text}"


@pytest.mark.parametrize(
    "text",
    [
        "Which glue is used for leather covers?",
        "What happens to parcels that nobody collects?",
        "Is there a vegetarian restaurant near the harbour?",
        "¿Cuál es la capital de España y su río?",
        "Quel est le prix de la visite guidée ?",
        "Haben Sie heute Abend noch Karten für die Oper?",
        "Quants visitants caben a la sala gran?",
        "Wie lange trocknet weiße Farbe auf Holz?",
    ],
)
def test_a_question_that_names_its_subject_stands_alone(text: str) -> None:
    assert question_in_conversation([OPEN, text]) == text


def test_questions_are_followed_back_to_the_one_that_names_the_subject() -> None:
    chain = [OPEN, "And on Sundays?", "And at Easter?"]

    assert question_in_conversation(["Which glue binds leather best?", *chain]) == " ".join(chain)


def test_at_most_four_questions_and_1000_characters_count() -> None:
    assert (
        question_in_conversation([f"Why {n}?" for n in range(9)]) == "Why 5? Why 6? Why 7? Why 8?"
    )
    assert question_in_conversation(["word " * 201, "Why?"]) == "Why?"
    assert question_in_conversation(["word " * 200, "Why?"]).endswith("word  Why?")


def test_a_conversation_without_a_question_has_none() -> None:
    assert question_in_conversation([]) == ""
