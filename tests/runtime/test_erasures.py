"""Which organisations may be erased, and by whom."""

from unittest.mock import AsyncMock

import pytest
from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError, PermissionDeniedError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import ADMIN, ORGANIZATION_ADMIN, Identity
from heddle_runtime.identity.people import Erasure, Person, PersonServicer

OPERATOR = Identity("operator", scopes=(ADMIN,))
OPERATOR_AT_UNI = Identity("ann@uni.example", "uni", (ADMIN,))
ADMINISTRATOR = Identity("ann@uni.example", "uni", (ORGANIZATION_ADMIN,))
DELETE, HAND_OVER = pb.SHARED_THINGS_DELETE, pb.SHARED_THINGS_HAND_OVER


async def erased(identity: Identity, slug: str, shared: pb.SharedThings.ValueType) -> AsyncMock:
    data = AsyncMock()
    data.erase.return_value = []
    before = CALLER.set(Caller("", identity))
    try:
        request = pb.ErasePersonalDataRequest(organization=slug, shared_things=shared)
        await PersonServicer(data).ErasePersonalData(request, AsyncMock())
    finally:
        CALLER.reset(before)
    return data


async def test_the_operator_erases_an_organization_with_everybody() -> None:
    data = await erased(OPERATOR, "uni", DELETE)
    data.erase.assert_awaited_once_with(Erasure(Person("", "uni")))


@pytest.mark.parametrize(
    ("identity", "slug", "shared", "error"),
    [
        (ADMINISTRATOR, "uni", DELETE, PermissionDeniedError),
        (ADMINISTRATOR, "school", DELETE, PermissionDeniedError),
        (OPERATOR_AT_UNI, "uni", DELETE, InvalidRequestError),
        (OPERATOR, "default", DELETE, InvalidRequestError),
        (OPERATOR, "", DELETE, InvalidRequestError),
        (OPERATOR, "uni", HAND_OVER, InvalidRequestError),
        (OPERATOR, "uni", pb.SHARED_THINGS_UNSPECIFIED, InvalidRequestError),
    ],
)
async def test_an_organization_is_not_erased(
    identity: Identity, slug: str, shared: pb.SharedThings.ValueType, error: type[HeddleError]
) -> None:
    with pytest.raises(error):
        await erased(identity, slug, shared)
