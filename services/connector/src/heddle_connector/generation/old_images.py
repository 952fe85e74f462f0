"""Deletes generated images that are older than their organisation stores images."""

from dataclasses import dataclass

import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import Channel, account_stub

from heddle_connector.generation.generated_images import GeneratedImages

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OldImages:
    """Finds and deletes them. Replicas may do so at once."""

    images: GeneratedImages
    accounts: Channel
    credentials: ServiceCredentials

    async def delete(self) -> None:
        """Delete them.

        Raises:
            HeddleError: The account service or the store fails.
        """
        method = account_stub(self.accounts).ListRetention
        response = await self.credentials.call(method, pb.ListRetentionRequest())
        for limit in response.retention:
            if not limit.images_days:
                continue
            count = await self.images.expire(limit.organization, limit.images_days)
            if count:
                log.info("old images deleted", organization=limit.organization, images=count)
