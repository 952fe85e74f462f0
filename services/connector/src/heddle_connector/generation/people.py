"""What the connector service stores of people: generated images."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.people import Erasure, Person, place

from heddle_connector.generation.generated_images import GeneratedImages

_IMAGES = "generated_images"


@dataclass(frozen=True, slots=True)
class ImageData:
    """Lists, exports and erases them. Implements `PersonalData`."""

    images: GeneratedImages

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return how many there are."""
        names = await self.images.names(person.identity)
        return [place(_IMAGES, len(names), pb.TREATMENT_DELETED)]

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield them."""
        for name in await self.images.names(person.identity):
            image = await self.images.get(person.identity, name)
            yield f"{_IMAGES}/{name}", image.data

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Delete them, and the folder with the person's name."""
        if erasure.access_only:
            return []
        erased = await self.places(erasure.person)
        await self.images.remove(erasure.person.identity)
        return erased
