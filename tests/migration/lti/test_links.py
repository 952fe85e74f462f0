"""Links of LTI 1.3 over HTTP, with the platform of `lti1p3platform`."""

import base64
import html
import json
import re
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from migration.lti.advantage import RETURN, ROLE, Moodle, moodle
from migration.lti.campus import Campus, campus

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
TEA, LEA = "tea@uni.example", "lea@uni.example"


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Moodle, Campus]]:
    """A platform, and a gateway with an author who teaches there."""
    async with moodle(tmp_path) as (platform, file):
        settings = {"lamb_lti_platforms": file, "private_networks": [ip_network("127.0.0.0/8")]}
        async with campus(tmp_path, **settings) as here:
            await here.imported()
            user = {"role": "creator", "name": "Tea"}
            response = await here.operator.put(f"/organizations/physics/users/{TEA}", json=user)
            assert response.status_code < 300, response.text
            owner = {"owner": TEA}
            moved = await here.operator.post("/assistants/42/owner", json=owner)
            assert moved.status_code < 300, moved.text
            keys = (await here.browser.get("/lti/keys")).json()
            platform.registration.set_tool_key_set(keys)
            yield platform, here


def field(page: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match, page
    return html.unescape(match[1])


async def new_link(platform: Moodle, here: Campus) -> str:
    """Let the teacher make a link to assistant 42, and return what identifies it."""
    page = await platform.launch(here, "tea", "Instructor", resource="")
    assert page.response.status_code == 200, page.response.text
    assert 'value="42"' in page.response.text
    token = field(page.response.text, "token")
    done = await here.post("/lti/configure", {"token": token, "assistant_ids": "42"})
    assert done.response.status_code == 200, done.response.text
    assert f'action="{RETURN}"' in html.unescape(done.response.text)
    policy = done.response.headers["content-security-policy"]
    assert "form-action https://moodle.example;" in policy
    answer = field(done.response.text, "JWT")
    [item] = platform.conf().validate_deeplinking_resp({"JWT": answer})
    claims = json.loads(base64.urlsafe_b64decode(answer.split(".")[1] + "=="))
    assert claims["https://purl.imsglobal.org/spec/lti-dl/claim/data"] == "course 7"
    assert (item["type"], item["url"]) == ("ltiResourceLink", f"{here.url}/lti/launch")
    return str(item["custom"]["heddle_link"])


async def test_a_teacher_makes_a_link_and_learners_arrive_in_their_group(
    both: tuple[Moodle, Campus],
) -> None:
    platform, here = both
    link = await new_link(platform, here)
    arrival = await platform.launch(here, "lea", "Learner", link=link)
    assert arrival.response.status_code == 200, arrival.response.text
    assert "url=/studio/chat/framed/42" in arrival.response.text
    me = await arrival.get("/v1/me")
    assert (me["email"], me["role"], me["organization"]) == (LEA, "member", "physics")
    [group] = (await arrival.get("/groups"))["groups"]
    assert (group["title"], group["assistants"], group["teachers"]) == ("Optics", ["42"], [TEA])


async def test_a_launch_of_the_teacher_brings_the_roster(both: tuple[Moodle, Campus]) -> None:
    platform, here = both
    link = await new_link(platform, here)
    await platform.launch(here, "gone", "Learner", link=link)
    roles = {"lea": "Learner", "leo": "Learner", "tea": "Instructor", "old": "Learner"}
    platform.members = [
        {"user_id": name, "email": f"{name}@uni.example", "roles": [f"{ROLE}{role}"]}
        | ({"status": "Inactive"} if name == "old" else {})
        for name, role in roles.items()
    ]
    platform.members += [{"user_id": "X 1", "roles": [f"{ROLE}Learner"]}]
    arrival = await platform.launch(here, "tea", "Instructor", link=link)
    assert "url=/studio/assistants/42" in arrival.response.text
    [group] = (await arrival.get("/groups"))["groups"]
    members = (await arrival.get(f"/groups/{group['id']}/members"))["members"]
    emails = [each["email"] for each in members]
    assert emails[:2] == [LEA, "leo@uni.example"]
    assert [each.partition("@")[2] for each in emails[2:]] == ["moodle.lti.local"]
    assert len(platform.tokens) == 1


async def test_a_link_without_a_choice_is_set_up_by_its_teacher(
    both: tuple[Moodle, Campus],
) -> None:
    platform, here = both
    waiting = await platform.launch(here, "lea", "Learner", resource="r9")
    assert waiting.response.status_code == 404
    page = await platform.launch(here, "tea", "Instructor", resource="r9")
    form = {"token": field(page.response.text, "token"), "assistant_ids": "42"}
    arrival = await here.post("/lti/configure", form)
    assert (await arrival.get("/v1/me"))["email"] == TEA
    learner = await platform.launch(here, "lea", "Learner", resource="r9")
    assert "url=/studio/chat/framed/42" in learner.response.text


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({f"{CLAIM}deployment_id": "2"}, "deployment"),
    ({f"{CLAIM}version": "1.1"}, "LTI 1.3"),
    ({"iss": "https://evil.example"}, "cannot be used"),
    ({"aud": "another"}, "cannot be used"),
    ({"nonce": "another"}, "cannot be used"),
    ({f"{CLAIM}message_type": "LtiSubmissionReviewRequest"}, "does not have"),
]


async def test_a_message_that_is_not_valid_is_refused(both: tuple[Moodle, Campus]) -> None:
    platform, here = both
    link = await new_link(platform, here)
    for claims, why in REFUSED:
        query, cookie = await platform.begin(here, "lea")
        # The library sets the nonce last, so a wrong one is that of another attempt.
        query["nonce"] = claims.get("nonce", query["nonce"])
        form = platform.message(query, "lea", "Learner", link=link, **claims)
        refused = await here.post("/lti/launch", form, cookie=cookie)
        assert refused.response.status_code in (401, 502), claims
        assert why in refused.response.text
        assert "session" not in refused.cookie


async def test_a_launch_is_good_once_and_for_the_browser_that_began_it(
    both: tuple[Moodle, Campus],
) -> None:
    platform, here = both
    link = await new_link(platform, here)
    query, cookie = await platform.begin(here, "lea")
    form = platform.message(query, "lea", "Learner", link=link)
    _, other = await platform.begin(here, "eve")
    for wrong in ("", other, f"{cookie}x"):
        refused = await here.post("/lti/launch", form, cookie=wrong)
        assert (refused.response.status_code, refused.cookie) == (401, "")
    assert (await here.post("/lti/launch", form, cookie=cookie)).response.status_code == 200
    replayed = await here.post("/lti/launch", form, cookie=cookie)
    assert "used before" in replayed.response.text
    header, payload, _ = form["id_token"].split(".")
    query, cookie = await platform.begin(here, "lea")
    forged = {"state": query["state"], "id_token": f"{header}.{payload}.AAAA"}
    refused = await here.post("/lti/launch", forged, cookie=cookie)
    assert refused.response.status_code == 502
    unknown = await here.browser.get("/lti/login", params={"iss": "https://evil.example"})
    assert unknown.status_code == 401
