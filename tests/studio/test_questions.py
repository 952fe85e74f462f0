"""Saved questions: kept with an assistant, asked again after an edit, two versions side by side."""

import re

import pytest
from playwright.sync_api import Page, expect
from studio.editing import change, new_assistant, open_editor, stored
from studio.harness import VIEWS, Studio

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
SHED = {"title": "Sheds", "text": "What is a shed?"}
WEFT = {"title": "", "text": "What is a weft?"}


def with_questions(studio: Studio, name: str) -> str:
    """Create an assistant with two saved questions, and return its identifier."""
    identifier = new_assistant(studio, name, prompt_template="First: {user_input}")
    path = f"/assistants/{identifier}/questions"
    studio.client.put(path, json={"questions": [SHED, WEFT]}).raise_for_status()
    return identifier


def saved(studio: Studio, identifier: str) -> list[dict[str, str]]:
    """Return the questions of an assistant."""
    questions: list[dict[str, str]] = studio.client.get(
        f"/assistants/{identifier}/questions"
    ).json()["questions"]
    return questions


def texts(page: Page) -> list[str]:
    """Return the texts of the questions in the form."""
    return [each.input_value() for each in page.get_by_label("Question", exact=True).all()]


@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_the_questions_and_their_answers_are_accessible_and_fit(
    development: Studio, theme: str, width: int
) -> None:
    identifier = with_questions(development, f"seen_{theme}_{width}")
    change(development, identifier, prompt_template="Second: {user_input}")
    with development.screen(theme=theme, width=width) as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/questions")
        screen.check()
        page.get_by_role("button", name="Ask 2 questions").click()
        expect(page.get_by_text("Second: What is a weft?")).to_be_visible()
        expect(page.get_by_text("First: What is a weft?")).to_be_visible()
        screen.check()
        screen.picture(f"questions-{theme}-{width}")


def test_a_question_is_saved_while_trying_and_repeated_from_the_empty_trial(
    development: Studio,
) -> None:
    identifier = new_assistant(development, "keeps", prompt_template="Asked: {user_input}")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_placeholder("Your question").fill("What is a shed?")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("button", name="Save this question").click()
        expect(page.get_by_role("button", name="This question is saved")).to_be_disabled()
        assert saved(development, identifier) == [
            {"title": "", "text": "What is a shed?", "expected": ""}
        ]
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("button", name="What is a shed?").click()
        expect(page.get_by_text("Asked: What is a shed?").first).to_be_visible()
        screen.check()


def test_unsaved_changes_and_a_version_answer_side_by_side(development: Studio) -> None:
    identifier = with_questions(development, "compared")
    with development.screen() as screen:
        page = screen.page
        open_editor(screen, identifier)
        page.get_by_label("System prompt").fill("Be brief.")
        expect(page.get_by_text("Unsaved changes")).to_be_visible()
        page.get_by_role("link", name="Test questions").click()
        expect(page.get_by_label("Assistant", exact=True)).to_have_value("unsaved")
        page.get_by_role("button", name="Ask 2 questions").click()
        answers = page.get_by_role("region", name="Sheds")
        unsaved = answers.get_by_role("group", name="Unsaved changes of the editor")
        version = answers.get_by_role("group", name=re.compile("Version"))
        expect(unsaved.get_by_text("First: What is a shed?")).to_be_visible()
        expect(version.get_by_text("First: What is a shed?")).to_be_visible()
        expect(page.get_by_text("2 of 2")).to_be_visible()
        screen.check()
    assert stored(development, identifier)["system_prompt"] == ""


def test_questions_are_edited_ordered_and_removed(development: Studio) -> None:
    identifier = with_questions(development, "edited")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/questions")
        page.get_by_role("button", name="Move Sheds down").click()
        assert texts(page) == [WEFT["text"], SHED["text"]]
        page.get_by_role("button", name="Add a question").click()
        page.get_by_role("button", name="Save the questions").click()
        empty = page.get_by_label("Question", exact=True).last
        expect(empty).to_have_attribute("aria-invalid", "true")
        empty.fill("What is a warp?")
        page.reload()
        expect(page.get_by_label("Question", exact=True).last).to_have_value("What is a warp?")
        page.get_by_role("button", name="Remove Sheds").click()
        page.get_by_role("button", name="Save the questions").click()
        expect(page.get_by_text("The questions are saved.")).to_be_visible()
        screen.check(expected=("400",))
    assert [each["text"] for each in saved(development, identifier)] == [
        *("What is a weft?", "What is a warp?"),
    ]


def test_questions_that_somebody_else_has_changed_lose_nothing(development: Studio) -> None:
    identifier = with_questions(development, "shared")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/questions")
        page.get_by_label("Question", exact=True).last.fill("What is mine?")
        path = f"/assistants/{identifier}/questions"
        theirs = {"questions": [SHED, {"title": "", "text": "What is theirs?"}]}
        development.client.put(path, json=theirs).raise_for_status()
        page.get_by_role("button", name="Save the questions").click()
        page.get_by_role("button", name="Put mine after theirs").click()
        page.get_by_role("button", name="Save the questions").click()
        expect(page.get_by_text("The questions are saved.")).to_be_visible()
        screen.check(expected=("409",))
    assert [each["text"] for each in saved(development, identifier)] == [
        *(SHED["text"], "What is theirs?", "What is mine?"),
    ]


def test_an_answer_that_is_stopped_or_fails_says_so(development: Studio) -> None:
    identifier = with_questions(development, "failing")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/questions")
        page.route("**/assistants/try", lambda route: route.abort())
        page.get_by_role("button", name="Ask 2 questions").click()
        answers = page.get_by_role("region", name="Sheds")
        expect(answers.get_by_role("alert")).to_be_visible()
        expect(page.get_by_text("2 of 2")).to_be_visible()
        screen.check(expected=("ERR_FAILED", "Failed to load"))


def test_an_edit_that_outlived_a_reload_does_not_overwrite_other_questions(
    development: Studio,
) -> None:
    identifier = with_questions(development, "reloaded")
    with development.screen() as screen:
        page = screen.page
        screen.open(f"assistants/{identifier}/questions")
        page.get_by_label("Question", exact=True).last.fill("What is mine?")
        path = f"/assistants/{identifier}/questions"
        theirs = {"questions": [SHED, {"title": "", "text": "What is theirs?"}]}
        development.client.put(path, json=theirs).raise_for_status()
        page.reload()
        page.get_by_role("button", name="Save the questions").click()
        expect(page.get_by_role("button", name="Put mine after theirs")).to_be_visible()
        screen.check(expected=("409",))
    assert saved(development, identifier)[-1]["text"] == "What is theirs?"
