"""The many ways in which clients name an assistant."""

import pytest
from assistants.serving import ADA, ADMIN, Service
from assistants.stored import keep
from heddle_runtime.errors import InvalidRequestError, NotFoundError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database

BOB = Identity("bob@uni.example", "uni", ("creator",))


FORMS = ("1", "lamb_assistant.1", "owui.lamb_assistant.1", "tutor", "LAMB:tutor", "owui.LAMB:tutor")


async def test_every_form_of_a_reference_finds_the_assistant(service: Service) -> None:
    ada = service.as_(ADA)
    made = await ada.create("tutor")
    for reference in FORMS:
        assert (await ada.get(reference)).assistant == made.assistant, reference


NOTHING = [
    "2",
    "01",
    "-1",
    "+1",
    "1.0",
    "9" * 18,
    "9" * 19,
    "9" * 5000,
    "\u0661",
    "tut",
    "a\0b",
    "LAMB:1",
    "lamb_assistant.",
    "lamb_assistant.tutor",
    "LAMB:",
    "' OR 1=1 --",
]


async def test_a_reference_to_nothing_is_answered_so(
    embedded: Service, subtests: pytest.Subtests
) -> None:
    ada = embedded.as_(ADA)
    await ada.create("tutor")
    for reference in NOTHING:
        with subtests.test(reference=reference):
            with pytest.raises(NotFoundError) as missing:
                await ada.get(reference)
            assert missing.value.message == f"No assistant is named {reference[:200]!r}."


async def test_a_name_that_is_a_number_is_found_unless_an_id_is(service: Service) -> None:
    ada = service.as_(ADA)
    await ada.create("2")
    assert (await ada.get("2")).assistant.id == "1"
    await ada.create("other")
    assert (await ada.get("2")).assistant.id == "2"
    assert (await ada.get("LAMB:2")).assistant.id == "1"


async def test_of_several_with_a_name_the_callers_own_counts(service: Service) -> None:
    await service.as_(BOB).create("tutor", published=True)
    await service.as_(ADA).create("tutor", published=True)
    assert (await service.as_(ADA).get("tutor")).assistant.owner == ADA.subject
    assert (await service.as_(BOB).get("tutor")).assistant.owner == BOB.subject


async def test_a_name_of_several_others_is_refused(service: Service) -> None:
    for owner in (ADA, BOB):
        await service.as_(owner).create("tutor", published=True)
    third = service.as_(Identity("cleo@uni.example", "uni", ("creator",)))
    with pytest.raises(InvalidRequestError, match="Several assistants are named 'tutor'"):
        await third.get("tutor")


async def test_names_that_the_caller_may_not_use_do_not_count(service: Service) -> None:
    await service.as_(ADA).create("tutor")
    await service.as_(BOB).create("tutor", published=True)
    await service.as_(Identity("eve@college.example", "college", ("creator",))).create(
        "tutor", published=True
    )
    third = service.as_(Identity("cleo@uni.example", "uni", ("creator",)))
    assert (await third.get("tutor")).assistant.owner == BOB.subject


async def test_a_name_that_today_breaks_the_rule_still_counts(
    service: Service, database: Database
) -> None:
    number = await keep(database, name="1_My Tutor é")
    assert (await service.as_(ADMIN).get("LAMB:1_My Tutor é")).assistant.id == number


async def test_no_reference_breaks_a_database(service: Service) -> None:
    for reference in ("a\0b", "\ud7ff", "9" * 18, "' OR 1=1 --", "x" * 100_000):
        with pytest.raises(NotFoundError):
            await service.as_(ADA).get(reference)
