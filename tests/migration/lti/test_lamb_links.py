"""Links that courses have for LAMB lead to Heddle: real launches over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from migration.lti.campus import Arrival, Campus, campus
from migration.lti.platform import (
    ANA,
    AUTHORS_KEY,
    AUTHORS_SECRET,
    KEY,
    LINK,
    OWNER,
    PUBLISHED,
    SECRET,
    signed,
)

ACTIVITY, ASSISTANT = "/lamb/v1/lti/launch", "/lamb/v1/lti_users/lti"
STUDIO = "/lamb/v1/lti_creator/launch"
LEARNER = {
    "resource_link_id": LINK,
    "user_id": "17",
    "ext_user_username": "lea",
    "roles": "Learner",
    "lis_person_name_full": "Lea Learner",
}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Campus]:
    """A gateway that has imported LAMB."""
    async with campus(tmp_path) as running:
        await running.imported()
        yield running


async def members(arrival: Arrival) -> dict[str, list[str]]:
    """Return the groups that a person is in, with their assistants."""
    groups = (await arrival.get("/groups"))["groups"]
    return {each["title"]: each["assistants"] for each in groups}


async def test_an_import_takes_keys_and_links_over_once(tmp_path: Path) -> None:
    async with campus(tmp_path) as here:
        counts = {
            table: (progress.changed, progress.unchanged, progress.refused)
            for dry_run in (True, False, False)
            for table, progress in (await here.imported(dry_run=dry_run)).items()
        }
    assert counts["lti_global_config"] == counts["lti_creator_keys"] == (0, 1, 0)
    assert counts["assistant_publish"] == (0, 2, 0)
    assert counts["lti_activities"] == (0, 1, 1)  # one has lost its only assistant


async def test_a_learner_arrives_in_the_chat_and_in_the_group_of_the_activity(
    here: Campus,
) -> None:
    arrival = await here.launch(ACTIVITY, KEY, SECRET, LEARNER)
    assert arrival.response.status_code == 200, arrival.response.text
    assert "url=/studio/chat/framed/43" in arrival.response.text
    assert "SameSite=Strict" in arrival.cookie
    me = await arrival.get("/v1/me")
    assert (me["organization"], me["role"], me["name"]) == ("physics", "member", "Lea Learner")
    assert me["email"].startswith("lea-")
    assert await members(arrival) == {"Waves": ["43"]}
    again = await here.launch(ACTIVITY, KEY, SECRET, LEARNER)
    assert (await again.get("/v1/me"))["email"] == me["email"]


async def test_a_launch_in_a_frame_has_a_session_for_frames_of_that_site(here: Campus) -> None:
    body = {"settings": {"chat": {"frame_hosts": "moodle.example"}}}
    changed = await here.operator.put("/organizations/physics", json=body)
    assert changed.status_code == 200, changed.text
    arrival = await here.launch(ACTIVITY, KEY, SECRET, LEARNER, sec_fetch_dest="iframe")
    assert "HttpOnly; SameSite=None; Secure; Partitioned" in arrival.cookie
    policy = arrival.response.headers["content-security-policy"]
    assert "frame-ancestors 'self' https://moodle.example" in policy
    assert (await arrival.get("/v1/me"))["role"] == "member"


async def test_a_launch_is_good_for_one_browser(here: Campus) -> None:
    body = signed(f"{here.url}{ACTIVITY}", KEY, SECRET, LEARNER)
    assert (await here.post(ACTIVITY, body)).response.status_code == 200
    replayed = await here.post(ACTIVITY, body)
    assert replayed.response.status_code == 401
    assert "used before" in replayed.response.text
    assert not replayed.cookie


REFUSED: list[tuple[str, str, str, dict[str, str], int]] = [
    (ACTIVITY, KEY, "wrong", LEARNER, 401),
    (ACTIVITY, "other", SECRET, LEARNER, 401),
    (ACTIVITY, "", "", LEARNER, 401),
    (ACTIVITY, AUTHORS_KEY, AUTHORS_SECRET, LEARNER, 401),
    (ACTIVITY, KEY, SECRET, {"user_id": "17"}, 401),
    (ACTIVITY, KEY, SECRET, {"resource_link_id": LINK}, 401),
    (ACTIVITY, KEY, SECRET, LEARNER | {"resource_link_id": "new"}, 404),
    (ASSISTANT, PUBLISHED, SECRET, LEARNER, 401),
    (ASSISTANT, "unknown", "secret-of-assistants", LEARNER, 404),
    (STUDIO, KEY, SECRET, LEARNER, 401),
    (STUDIO, AUTHORS_KEY, AUTHORS_SECRET, {}, 401),
]


async def test_a_launch_that_is_not_valid_is_refused(here: Campus) -> None:
    for path, key, secret, form, status in REFUSED:
        arrival = await here.launch(path, key, secret, form)
        assert arrival.response.status_code == status, arrival.response.text
        assert not arrival.cookie


async def test_a_link_to_one_assistant_leads_to_it(here: Campus) -> None:
    first, second = [
        await here.launch(ASSISTANT, PUBLISHED, "secret-of-assistants", {"user_id": user})
        for user in ("17", "18")
    ]
    assert "url=/studio/chat/framed/42" in first.response.text
    assert await members(first) == await members(second) == {"a": ["42"]}
    emails = [(await each.get("/v1/me"))["email"] for each in (first, second)]
    assert [each.partition("-")[0] for each in emails] == ["17", "18"]


async def test_an_author_arrives_in_the_studio(here: Campus) -> None:
    form = {"user_id": "t1", "lis_person_name_full": "Tea Teacher"}
    arrival = await here.launch(STUDIO, AUTHORS_KEY, AUTHORS_SECRET, form)
    assert "url=/studio/" in arrival.response.text
    me = await arrival.get("/v1/me")
    assert (me["email"], me["role"]) == ("lti_creator_physics_t1@lamb-lti.local", "creator")


async def test_an_address_of_a_platform_opens_no_account_of_an_author(here: Campus) -> None:
    taken = {"ext_user_username": "lti_creator_physics", "resource_link_id": LINK}
    for email in (OWNER, ANA):
        own = {"roles": "Instructor", "lis_person_contact_email_primary": email}
        form = {**LEARNER, **taken, **own}
        arrival = await here.launch(ACTIVITY, KEY, SECRET, form)
        me = await arrival.get("/v1/me")
        assert (me["role"], me["email"].endswith("@learners.lamb-lti.local")) == ("member", True)


async def test_a_teacher_chooses_the_assistants_of_a_new_activity(here: Campus) -> None:
    new = {**LEARNER, "resource_link_id": "new", "resource_link_title": "Optics"}
    teacher = {**new, "roles": "Instructor", "lis_person_contact_email_primary": OWNER}
    page = await here.launch(ACTIVITY, KEY, SECRET, teacher)
    assert not page.cookie
    assert '"43"' in page.response.text
    token = page.response.text.partition('name="token" value="')[2].partition('"')[0]
    configure = "/lamb/v1/lti/configure"
    for wrong in ("", "&assistant_ids=1", "&assistant_ids=42&assistant_ids=1"):
        refused = await here.post(configure, f"token={token}{wrong}")
        assert refused.response.status_code == 400
    assert (await here.post(configure, "token=x&assistant_ids=42")).response.status_code == 403
    saved = await here.post(configure, f"token={token}&assistant_ids=42&assistant_ids=43")
    assert (saved.response.status_code, saved.cookie) == (200, "")
    again = await here.post(configure, f"token={token}&assistant_ids=42")
    assert again.response.status_code == 400
    learner = await here.launch(ACTIVITY, KEY, SECRET, new)
    assert learner.response.text.count("/studio/chat/framed/") == 2
    assert await members(learner) == {"Optics": ["42", "43"]}
