"""The flows of educators and operators in Basque, dark, 360 px wide, with the keyboard only."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from migration.lamb.lamb_database import filled
from playwright.sync_api import Browser, expect
from studio.editing import change, new_assistant, stored, template
from studio.harness import KEY, PHONE, Studio, running
from studio.keyboard import Keyboard
from studio.test_knowledge import BROKEN, COUNT, SHUTTLE, documents

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
LANGUAGE = "eu"


@contextmanager
def person(studio: Studio, key: str = "") -> Iterator[Keyboard]:
    """Open a small dark window of a user who uses the keyboard and reads Basque."""
    with studio.screen(theme="dark", width=PHONE, language=LANGUAGE, key=key) as screen:
        yield Keyboard(screen, LANGUAGE)


def tool_title(studio: Studio, name: str) -> str:
    """Return the title of a tool in the person's language."""
    tool = studio.client.get(f"/tools/{name}").json()
    return str(tool["config_schema"]["x-heddle-i18n"][LANGUAGE]["title"])


def test_a_new_assistant_is_tried_and_published(development: Studio) -> None:
    with person(development) as keys:
        page = keys.page
        keys.screen.open("assistants")
        keys.press(keys.button("assistants.new").first)
        dialog = page.get_by_role("dialog")
        keys.type(keys.field("assistants.titleField"), "first_flow")
        keys.press(dialog.get_by_role("button", name=keys.text("assistants.create")))
        expect(page.get_by_role("heading", level=1)).to_have_text("first_flow")
        identifier = page.url.rpartition("/")[2]
        keys.press(keys.button("editor.tools.add"))
        for words in ("word_count", "current_file"):
            keys.type(keys.field("editor.tools.search"), words)
            name = tool_title(development, words)
            keys.press(keys.button("editor.tools.addOne", name=name))
        for slot in ("user_input", "word_count"):
            keys.press(page.get_by_role("button", name=re.compile(rf"^{{{slot}}}")))
        keys.reach(template(page))
        page.keyboard.press("Control+End")
        page.keyboard.type(" {currentfile} ")
        page.keyboard.press("Escape")
        mistyped = keys.text("editor.finding.unknown_slot", slot="{currentfile}")
        expect(page.get_by_text(mistyped)).to_be_visible()
        keys.screen.check()
        keys.press(keys.button("editor.finding.replace", slot="{current_file}"))
        findings = page.get_by_role("status", name=keys.text("editor.findings"))
        expect(findings.get_by_role("listitem")).to_have_count(0)
        keys.press(keys.button("editor.save"))
        expect(page.get_by_text(keys.text("editor.saved"))).to_be_visible()
        assert "{current_file}" in stored(development, identifier)["prompt_template"]
        keys.press(keys.button("editor.pane.trial"))
        keys.type(keys.field("answer.question"), "Zenbat hitz?")
        keys.press(keys.button("answer.send"))
        expect(page.get_by_role("article")).to_contain_text("Zenbat hitz?")
        keys.press(keys.button("trace.title"))
        keys.press(page.get_by_role("button", name=re.compile("word_count")).first)
        expect(page.get_by_role("heading", name=keys.text("trace.output"))).to_be_visible()
        keys.screen.check()
        keys.press(keys.link("editor.sharing"))
        keys.reach(page.get_by_role("radio", checked=True))
        page.keyboard.press("ArrowDown")
        keys.press(keys.button("sharing.save"))
        expect(page.get_by_text(keys.text("sharing.unsaved"))).to_have_count(0)
        keys.screen.check()
    assert stored(development, identifier)["published"]


def test_versions_are_compared_and_restored_and_a_conflict_is_decided(development: Studio) -> None:
    identifier = new_assistant(development, "ribbon", system_prompt="first")
    with person(development) as keys:
        page = keys.page
        keys.screen.open(f"assistants/{identifier}")
        keys.type(keys.field("editor.systemPrompt"), "second")
        keys.press(keys.button("editor.save"))
        expect(page.get_by_text(keys.text("editor.saved"))).to_be_visible()
        keys.press(keys.link("editor.versions"))
        keys.press(
            page.get_by_role("link", name=re.compile(keys.text("versions.version", number=1)))
        )
        panel = page.get_by_role("region", name=keys.text("versions.version", number=1))
        keys.choose(panel.get_by_label(keys.text("versions.with")), "2")
        expect(panel.locator("[data-compared='2-1'], [data-compared='1-2']")).to_be_visible()
        keys.screen.check()
        keys.press(keys.button("versions.restore"))
        restored = keys.text("versions.restored", number=1, **{"as": 3})
        expect(page.get_by_text(restored)).to_be_visible()
        assert stored(development, identifier)["system_prompt"] == "first"
        keys.press(keys.link("versions.edit"))
        keys.type(keys.field("editor.systemPrompt"), "mine")
        change(development, identifier, system_prompt="theirs")
        keys.press(keys.button("editor.save"))
        dialog = page.get_by_role("dialog", name=keys.text("editor.other.title"))
        keys.press(dialog.get_by_role("button", name=keys.text("editor.other.allMine")))
        keys.screen.check(expected=("409",))
        keys.press(dialog.get_by_role("button", name=keys.text("editor.other.save")))
        expect(page.get_by_text(keys.text("editor.saved"))).to_be_visible()
        page.keyboard.press("F8")  # to the offer to undo it
        page.keyboard.press("Enter")
        expect(keys.field("editor.systemPrompt")).to_have_value("theirs")
    assert stored(development, identifier)["system_prompt"] == "theirs"


def test_files_are_uploaded_retried_searched_and_used(development: Studio, tmp_path: Path) -> None:
    with person(development) as keys:
        page = keys.page
        keys.screen.open("knowledge")
        keys.press(keys.button("knowledge.new").first)
        dialog = page.get_by_role("dialog")
        keys.type(dialog.get_by_label(keys.text("knowledge.name"), exact=True), "Ehungintza")
        keys.press(dialog.get_by_role("button", name=keys.text("knowledge.create")))
        expect(page.get_by_role("heading", level=1)).to_have_text("Ehungintza")
        keys.give(keys.button("knowledge.upload.files"), documents(tmp_path))
        failed = keys.text("knowledge.failedCount", count=BROKEN)
        expect(page.get_by_text(failed)).to_be_visible(timeout=180_000)
        keys.choose(keys.field("knowledge.file.state"), keys.text("knowledge.state.failed"))
        rows = page.get_by_role("row").filter(has_text="loom_0")
        expect(rows).to_have_count(BROKEN)
        keys.screen.check()
        keys.press(rows.first.get_by_role("button", name=keys.text("knowledge.file.retry")))
        expect(rows).to_have_count(BROKEN, timeout=60_000)
        keys.choose(keys.field("knowledge.file.state"), keys.text("knowledge.state.completed"))
        expect(
            page.get_by_text(keys.text("knowledge.file.count", count=COUNT - BROKEN))
        ).to_be_visible()
        keys.press(keys.link("knowledge.tab.search"))
        keys.type(keys.field("knowledge.test.question"), "What carries the weft?")
        keys.press(keys.button("knowledge.test.run"))
        results = page.get_by_role("list", name=keys.text("knowledge.test.results"))
        best = results.get_by_role("listitem").first
        expect(best).to_contain_text("loom_19.pdf")
        keys.press(best.get_by_role("button", name=keys.text("knowledge.test.show")))
        expect(best.locator("mark")).to_have_text(SHUTTLE)
        keys.screen.check()
        keys.press(keys.button("knowledge.use"))
        use = page.get_by_role("dialog").get_by_role(
            "button", name=keys.text("knowledge.use.submit")
        )
        keys.press(use.last)
        page.wait_for_url("**/studio/assistants/*")
        identifier = page.url.rpartition("/")[2]
    [tool] = stored(development, identifier)["tools"]
    stores = development.client.get("/v1/vector_stores").json()["data"]
    assert tool["config"]["collections"] == [stores[0]["id"]]


def test_a_database_of_lamb_is_imported_and_rolled_back(tmp_path: Path, browser: Browser) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    folder = tmp_path / "heddle"
    folder.mkdir()
    environment = {"HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path)}
    with running(folder, browser, **environment) as studio, person(studio) as keys:
        page = keys.page

        def start(kind: str, *, dry_run: bool) -> None:
            keys.choose(keys.field("migration.job"), keys.text(f"migration.kind.{kind}"))
            switch = keys.field("migration.dryRun")
            if switch.is_checked() != dry_run:
                keys.press(switch, "Space")
            keys.press(keys.button("migration.startDry" if dry_run else "migration.startReal"))
            expect(page.get_by_role("heading", level=1)).to_contain_text(
                keys.text(f"migration.kind.{kind}")
            )

        def ended() -> None:
            done = keys.text("migration.state.done")
            expect(page.get_by_role("status").filter(has_text=done)).to_be_visible()

        keys.screen.open("migration")
        start("import", dry_run=True)
        ended()
        keys.choose(keys.field("migration.findings.show"), keys.text("migration.findings.notes"))
        findings = page.get_by_role("table", name=keys.text("migration.findings"))
        expect(findings.get_by_role("row").nth(1)).to_be_visible()
        keys.screen.settle()  # rows of another filter are faded until then
        keys.screen.check()
        keys.press(keys.button("migration.now"))
        expect(page.get_by_text(keys.text("migration.dryRun"), exact=True)).to_have_count(0)
        ended()
        assert studio.client.get("/assistants").json()["assistants"]
        for kind in ("sweep", "rollback"):
            keys.press(keys.link("migration.back"))
            start(kind, dry_run=False)
            ended()
        keys.screen.check()


def _add_creator(keys: Keyboard, email: str) -> None:
    keys.press(keys.button("users.new").first)
    keys.type(keys.field("users.email"), email)
    role = keys.page.get_by_role("dialog").get_by_label(keys.text("users.role"))
    keys.choose(role, keys.text("users.role.creator"))
    keys.press(keys.button("users.add"))


def test_an_operator_makes_an_organisation_a_user_and_a_key(locked: Studio) -> None:
    with person(locked, KEY) as keys:
        page = keys.page
        keys.screen.open("organizations")
        keys.press(keys.button("organizations.new").first)
        keys.type(keys.field("organizations.slug"), "kolegioa")
        keys.type(keys.field("organizations.name"), "Kolegioa")
        keys.press(keys.button("organizations.create"))
        created = keys.text("organizations.created", name="kolegioa")
        keys.press(page.get_by_role("link", name=created))
        _add_creator(keys, "eve@kolegioa.example")
        row = page.get_by_role("row").filter(has_text="eve@kolegioa.example")
        keys.press(row.get_by_role("button"))
        item = page.get_by_role("menuitem", name=keys.text("users.password"))
        while not item.evaluate("it => it === document.activeElement"):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        keys.press(keys.button("users.password.set"))
        password = page.get_by_role("dialog").get_by_label(keys.text("users.password.field"))
        expect(password).not_to_have_value("")
        secret = password.input_value()
        keys.screen.check()
        keys.press(keys.button("keys.done"))
        keys.screen.open("keys")
        keys.press(keys.button("keys.new").first)
        keys.type(keys.field("keys.name"), "Everen gidoia")
        keys.choose(keys.field("keys.for"), keys.text("keys.for.user"))
        keys.choose(keys.field("keys.organization"), "Kolegioa")
        keys.type(keys.field("keys.user"), "eve@kolegioa.example")
        keys.screen.check()
        keys.press(keys.button("keys.create"))
        new_key = page.get_by_role("dialog").get_by_label(keys.text("signIn.key.label"))
        expect(new_key).to_have_value(re.compile("^hk_"))
        keys.press(keys.button("keys.done"))
        expect(page.get_by_role("rowheader").get_by_text("Everen gidoia")).to_be_visible()
    with person(locked) as keys:
        page = keys.page
        page.goto(f"{locked.url}/studio/")
        keys.type(keys.field("signIn.email"), "eve@kolegioa.example")
        keys.type(keys.field("signIn.password"), secret)
        keys.press(keys.button("signIn.title"))
        expect(page.get_by_role("heading", name=keys.text("home.title"))).to_be_visible()
        keys.press(keys.button("frame.menu"))
        links = page.get_by_role("navigation", name=keys.text("frame.navigation"))
        expect(links.get_by_role("link", name=keys.text("keys.title"))).to_be_visible()
        for hidden in ("organizations.title", "audit.title", "health.title"):
            expect(links.get_by_role("link", name=keys.text(hidden))).to_have_count(0)
        keys.press(links.get_by_role("link", name=keys.text("keys.title")))
        expect(page.get_by_role("rowheader").get_by_text("Everen gidoia")).to_be_visible()
        keys.screen.check(expected=("401",))
