"""What each role sees: no screen and no button for what the role lacks a right to."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from studio.harness import KEY, Studio, running

pytestmark = pytest.mark.exhaustive
SCREENS = {
    "member": ["Chat", "Home", "Assistants"],
    "creator": [
        *("Chat", "Home", "Assistants", "Groups"),
        *("Knowledge", "Rubrics", "Tools", "Usage", "API keys"),
    ],
    "admin": [
        *(
            "Chat",
            "Home",
            "Assistants",
            "Groups",
            "Knowledge",
            "Rubrics",
            "Tools",
            "Connect a model",
            "Usage",
        ),
        *("Organisations", "API keys", "Audit log"),
    ],
}


def test_a_role_sees_the_screens_and_buttons_of_its_rights(
    tmp_path: Path, browser: Browser
) -> None:
    with running(tmp_path, browser, HEDDLE_GATEWAY_API_KEY=KEY) as studio:
        client = studio.client
        client.put("/organizations/uni", json={"name": "University"}).raise_for_status()
        for role in SCREENS:
            _sees(studio, role)


def _sees(studio: Studio, role: str) -> None:
    email = f"{role}@uni.example"
    path = f"/organizations/uni/users/{email}"
    studio.client.put(path, json={"role": role}).raise_for_status()
    body: dict[str, Any] = {"name": role, "user": email, "organization": "uni"}
    if role == "admin":
        body["scopes"] = ["organization_admin"]
    key = studio.client.post("/keys", json=body).raise_for_status().json()["key"]
    if role == "creator":
        assistant = {
            "name": "tutor",
            "title": "Tutor of looms",
            "model": {"connector": "bypass", "model": "simple-bypass"},
        }
        headers = {"authorization": f"Bearer {key}"}
        response = studio.client.post("/assistants", json=assistant, headers=headers)
        identifier = response.raise_for_status().json()["id"]
        studio.client.put(
            f"/assistants/{identifier}/publish", json={"published": True}, headers=headers
        ).raise_for_status()
    with studio.screen(key=key) as screen:
        screen.open()
        assert screen.page.url.endswith("/studio/chat") is (role == "member")
        screen.open("assistants")
        links = screen.page.get_by_role("navigation").get_by_role("link")
        assert [each.strip() for each in links.all_inner_texts() if each.strip()] == SCREENS[role]
        screen.picture(f"role-{role}-home")
        new = screen.page.get_by_role("button", name="New assistant")
        assert (new.count() == 0) is (role == "member")
        screen.picture(f"role-{role}-assistants")
        screen.check()
