"""Saved questions: kept with an assistant, asked again after an edit, two versions side by side."""

import re
from collections.abc import Iterator

import pytest
from heddle_runtime.http.egress import SETTING
from playwright.sync_api import Browser, Page, expect
from studio.editing import change, new_assistant, open_editor, stored
from studio.harness import KEY, VIEWS, Studio, running
from studio.school import School
from studio.tutor import tutor

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(300)]
SHED = {"title": "Sheds", "text": "What is a shed?"}
WEFT = {"title": "", "text": "What is a weft?"}


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[School]:
    """A school whose provider is the tutor, who finds the first of the facts in each answer."""
    folder = tmp_path_factory.mktemp("judged")
    settings = {"HEDDLE_GATEWAY_API_KEY": KEY, SETTING: "127.0.0.0/8"}
    with tutor() as url, running(folder, browser, **settings) as studio:
        yield School(studio, url)


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


def test_answers_of_three_versions_are_scored_by_the_words_of_facts(development: Studio) -> None:
    identifier = with_questions(development, "scored")
    change(development, identifier, prompt_template="Second: {user_input}")
    change(development, identifier, prompt_template="Third, and FÍRST: {user_input}")
    facts = {**SHED, "expected": "first\n\nwhat is a shed\n"}
    path = f"/assistants/{identifier}/questions"
    development.client.put(path, json={"questions": [facts, WEFT]}).raise_for_status()
    for theme, width in VIEWS:
        with development.screen(theme=theme, width=width) as screen:
            page = screen.page
            screen.open(f"assistants/{identifier}/questions")
            page.get_by_role("button", name="Compare with one more").click()
            third = page.get_by_label("Compare with (2)")
            third.select_option(index=3)
            page.get_by_role("button", name="Ask 2 questions").click()
            table = page.get_by_role("table", name="Facts in the answers")
            whole = table.get_by_role("row", name=re.compile("All questions"))
            expect(whole.get_by_role("cell")).to_have_text(
                [re.compile(each) for each in ("2 of 2", "1 of 2", "2 of 2")]
            )
            expect(table.get_by_role("row")).to_have_count(3)
            expect(page.get_by_text("missing")).to_have_count(1)
            screen.check()
            screen.picture(f"scores-{theme}-{width}")


def test_a_model_says_which_facts_are_stated(school: School) -> None:
    facts = {**SHED, "expected": "a gap between threads\nmade of glass"}
    path = f"/assistants/{school.tutor}/questions"
    saved = school.studio.client.put(path, json={"questions": [facts]}, headers=school.teacher)
    saved.raise_for_status()
    with school.screen(teacher=True) as screen:
        page = screen.page
        screen.open(f"assistants/{school.tutor}/questions")
        page.get_by_label("Who checks the facts").select_option(label="m")
        page.get_by_role("button", name="Ask the question").click()
        row = page.get_by_role("row", name=re.compile("All questions"))
        expect(row).to_contain_text("1 of 2")
        missing = page.get_by_role("listitem").filter(has_text="missing")
        expect(missing).to_have_text([re.compile("made of glass")] * 2)
        screen.check()
