"""Threat 34: a plugin uses capabilities with the rights of another person.

One process of a plugin serves all users. Whose call starts it, and whose calls it serves at the
same time, must not matter.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from heddle_runtime.identity.callers import Identity
from runtime.examples import PROFILE, sampled
from threats.tenants import MEMBER, OWNER, Form
from threats.two_people import (
    OWN,
    PEOPLE,
    TwoPeople,
    canary,
    faults,
    faults_of_member,
    two_people,
)

WAYS = (
    TwoPeople.by_slot,
    TwoPeople.by_function,
    TwoPeople.by_agent,
    TwoPeople.by_itself,
    TwoPeople.by_mcp,
)
CALLS = {"reduced": 12, "full": 60, "nightly": 200}[PROFILE]
AT_ONCE = 20


FORMS: tuple[Form, ...] = ("local", "grpc", "processes")
PLACES = [(form, sandbox) for form in FORMS for sandbox in ("auto", "off")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("form", "sandbox"), sampled(PLACES, 1, full=3))
async def test_each_person_sees_the_own_things_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form, sandbox: str
) -> None:
    async with two_people(tmp_path, monkeypatch, form, sandbox) as people:
        wrong = [
            fault
            for way in WAYS
            for owner in PEOPLE
            for caller in PEOPLE
            for fault in faults(
                way.__name__, caller, owner, await way(people, caller, people.named[owner])
            )
        ]
        if sandbox == "auto":
            wrong += await _with_a_process_that_others_replace(people)
        wrong += await _by_a_member(people)
        wrong += await _interleaved(people)
    assert not wrong, "\n".join(wrong)


async def _with_a_process_that_others_replace(people: TwoPeople) -> list[str]:
    wrong = []
    for ends, asks in (PEOPLE, PEOPLE[::-1]):
        path = "/tools/ends/run"
        ending = people.heddle.request(ends, "POST", path, json={})
        meanwhile = people.heddle.request(asks, "POST", "/tools/looks/run", json={"config": {}})
        ended, answer = await asyncio.gather(ending, meanwhile)
        assert ended.status_code != 200
        wrong += [f"{asks.subject} sees {canary(ends)}"] * (canary(ends) in answer.text)
        # Both start a process now, and each waits for the other's.
        both = await asyncio.gather(
            *(people.by_itself(each, people.named[each]) for each in (ends, asks))
        )
        for person, seen in zip((ends, asks), both, strict=True):
            wrong += faults("after the process was replaced", person, person, seen)
    return wrong


async def _by_a_member(people: TwoPeople) -> list[str]:
    things = people.named[OWNER]
    return [
        fault
        for way in (TwoPeople.by_slot, TwoPeople.by_function, TwoPeople.by_agent)
        for fault in faults_of_member(way.__name__, await way(people, MEMBER, things, OWNER))
    ]


async def _interleaved(people: TwoPeople) -> list[str]:
    callers = [PEOPLE[number % 2] for number in range(CALLS)]
    slots = asyncio.Semaphore(AT_ONCE)

    async def seen_by(caller: Identity) -> dict[str, Any]:
        async with slots:
            return await people.by_itself(caller, people.named[caller])

    several = await asyncio.gather(*map(seen_by, callers))
    assert all(set(OWN) <= set(seen) for seen in several)
    return [
        fault
        for caller, seen in zip(callers, several, strict=True)
        for fault in faults("interleaved", caller, caller, seen)
    ]
