"""Deletes old events once a day."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from heddle_runtime.background import in_background

from heddle_assistants.audit.log import AuditLog

logger = structlog.get_logger(__name__)
_DAY = 86_400.0


@asynccontextmanager
async def expiring(log: AuditLog, days: int) -> AsyncGenerator[None]:
    """Delete events that are older than `days`, now and once a day until the block ends."""
    async with in_background(_run(log, days)):
        yield


async def _run(log: AuditLog, days: int) -> None:
    while True:
        try:
            await log.expire(days)
        except Exception:  # nothing awaits this task: an error must not end it
            logger.exception("old events of the audit log not deleted, will be retried")
        await asyncio.sleep(_DAY)
