"""The personal data that the connector service stores, generated images, and its end."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import structlog
from heddle.account.v1.account_pb2 import ListRetentionRequest
from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.identity.people import Erasure, Person, place
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import Channel, account_stub

from heddle_connector.generation.generated_images import GeneratedImages

log = structlog.get_logger(__name__)
_IMAGES = "generated_images"


@dataclass(frozen=True, slots=True)
class ImageData:
    """Lists, exports and erases the images of people. Implements `PersonalData`."""

    images: GeneratedImages

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return the number of images of a person, by the place that stores them."""
        names = await self.images.names(person.identity)
        return [place(_IMAGES, len(names), pb.TREATMENT_DELETED)]

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield the name and the bytes of each image."""
        for name in await self.images.names(person.identity):
            image = await self.images.get(person.identity, name)
            yield f"{_IMAGES}/{name}", image.data

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Delete the images, and the folder with the person's name."""
        if erasure.access_only:
            return []
        person = erasure.person
        if person.email:
            erased = await self.places(person)
        else:
            count = await self.images.expire(person.organization, 0)
            erased = [place(_IMAGES, count, pb.TREATMENT_DELETED)]
        await self.images.remove(person.organization, person.email)
        return erased


async def delete_old_images(
    images: GeneratedImages, accounts: Channel, credentials: ServiceCredentials
) -> None:
    """Delete images that are older than their organisation stores them. Replicas may do so at once.

    Raises:
        HeddleError: The account service or the store fails.
    """
    method = account_stub(accounts).ListRetention
    response = await credentials.call(method, ListRetentionRequest())
    for limit in response.retention:
        if limit.images_days:
            count = await images.expire(limit.organization, limit.images_days)
            if count:
                log.info("old images deleted", organization=limit.organization, images=count)
