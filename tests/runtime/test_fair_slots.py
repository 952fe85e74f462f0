"""`heddle_runtime.serving.fair_slots`: whose work is next."""

import asyncio

import pytest
from heddle_runtime.serving.fair_slots import FairSlots, QueueFullError, Tenant, in_turn

LOUD = Tenant("loud", "ann")


async def finished_in_order(slots: FairSlots, *tenants: Tenant) -> list[Tenant]:
    """Start work of each tenant in this order; return in which order it was done."""
    order: list[Tenant] = []

    async def work(tenant: Tenant) -> None:
        async with slots.slot(tenant):
            order.append(tenant)
            await asyncio.sleep(0)

    await asyncio.gather(*map(work, tenants))
    return order


async def test_organisations_and_their_owners_take_turns() -> None:
    second, quiet = Tenant("loud", "bob"), Tenant("quiet", "cat")
    arriving = [LOUD, LOUD, LOUD, LOUD, second, quiet]

    order = await finished_in_order(FairSlots(1, per_organization=1), *arriving)

    assert order == [LOUD, LOUD, quiet, second, LOUD, LOUD]
    assert in_turn(arriving[1:], lambda it: it) == [LOUD, quiet, second, LOUD, LOUD]


async def test_one_organisation_leaves_a_slot_free() -> None:
    slots = FairSlots(2, per_organization=1)
    async with slots.slot(LOUD):
        waiting = asyncio.create_task(finished_in_order(slots, LOUD))
        await asyncio.sleep(0)
        assert await finished_in_order(slots, Tenant("quiet", "cat")) == [Tenant("quiet", "cat")]
        assert not waiting.done()
    assert await waiting == [LOUD]


async def test_cancelled_work_gives_up_its_turn() -> None:
    slots = FairSlots(1, per_organization=1)
    async with slots.slot(LOUD):
        waiting = [asyncio.create_task(finished_in_order(slots, LOUD)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    assert await waiting[1] == [LOUD]
    assert await waiting[2] == [LOUD]
    assert await finished_in_order(slots, LOUD) == [LOUD]


@pytest.mark.parametrize(("waiting", "accepted"), [(1, True), (2, True), (3, False)])
async def test_too_much_waiting_work_is_refused(waiting: int, accepted: bool) -> None:
    for limits in ({"max_waiting": 2}, {"max_waiting_per_organization": 2}):
        slots = FairSlots(1, per_organization=1, **limits)
        async with slots.slot(LOUD):
            tasks = [asyncio.create_task(finished_in_order(slots, LOUD)) for _ in range(waiting)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # each starts a task of its own
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, QueueFullError)]
        assert (not refused) is accepted
