"""`heddle.usage.v1.UsageService`."""

from dataclasses import dataclass
from typing import Any

from heddle.account.v1.account_pb2 import Organization, PutOrganizationRequest
from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1 import usage_pb2_grpc as pb_grpc
from heddle_runtime.contract.paging import cut, page_size, write_token
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import require_service

from heddle_assistants.accounts.access import require_administrator
from heddle_assistants.accounts.model_prices import price_of, written
from heddle_assistants.accounts.organizations import Organizations
from heddle_assistants.accounts.resolution import with_prices
from heddle_assistants.accounts.secret_members import masked
from heddle_assistants.database.paging import row_before
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.quotas import with_limit
from heddle_assistants.repository.writer import Columns, Writer
from heddle_assistants.usage.days import DailyUsage, period_of
from heddle_assistants.usage.price_lookup import PriceLookup
from heddle_assistants.usage.recording import Recording
from heddle_assistants.usage.reports import Reports
from heddle_assistants.usage.reservations import Reservations


@dataclass(eq=False, slots=True)
class UsageServicer(pb_grpc.UsageServiceServicer):
    """Translates between the contract and the stores of usage."""

    recording: Recording
    reservations: Reservations
    reports: Reports
    prices: PriceLookup
    daily: DailyUsage
    organizations: Organizations
    writer: Writer

    async def RecordUsage(
        self, request: pb.RecordUsageRequest, context: Context
    ) -> pb.RecordUsageResponse:
        """Record usage."""
        require_service(caller().identity)
        await self.recording.record(request)
        return pb.RecordUsageResponse()

    async def ReserveUsage(
        self, request: pb.ReserveUsageRequest, context: Context
    ) -> pb.ReserveUsageResponse:
        """Reserve the estimated costs of an answer."""
        require_service(caller().identity)
        nears_end = await self.reservations.reserve(request)
        return pb.ReserveUsageResponse(nears_end=nears_end)

    async def GetPrice(self, request: pb.GetPriceRequest, context: Context) -> pb.GetPriceResponse:
        """Return the price of a model."""
        require_service(caller().identity)
        prices = await self.prices.of(request.organization)
        model = request.model
        return pb.GetPriceResponse(price=price_of(prices, model.connector, model.model))

    async def ListPrices(
        self, request: pb.ListPricesRequest, context: Context
    ) -> pb.ListPricesResponse:
        """List the prices for the assistants of an organisation."""
        require_administrator(caller().identity, request.organization)
        return await self.prices.listed(request.organization)

    async def PutPrices(
        self, request: pb.PutPricesRequest, context: Context
    ) -> pb.PutPricesResponse:
        """Replace the own prices of an organisation."""
        slug = request.organization
        async with self.reports.audit.attempt("organization.update", slug):
            require_administrator(caller().identity, slug)
        stored = await self.organizations.get(slug)
        prices = {name: written(price) for name, price in request.prices.items()}
        change = PutOrganizationRequest(
            organization=Organization(slug=slug), etag=request.etag or stored.etag
        )
        await self.organizations.put(change, with_prices(masked(stored.settings), prices))
        listed = await self.prices.listed(slug)
        return pb.PutPricesResponse(prices=listed.prices, etag=listed.etag)

    async def SetQuota(self, request: pb.SetQuotaRequest, context: Context) -> pb.SetQuotaResponse:
        """Set the limit of what an assistant may spend."""
        identity = caller().identity
        await self.reports.catalog.refuse_folder(request.id, identity)
        limit = request.limit_micros if request.HasField("limit_micros") else None

        def edit(stored: Stored) -> tuple[dict[str, Any], Columns]:
            return with_limit(stored.document, limit), {}

        await self.writer.edit(request.id, identity, request.etag, edit)
        usage = await self.reports.of(request.id, identity)
        return pb.SetQuotaResponse(usage=usage)

    async def GetUsage(self, request: pb.GetUsageRequest, context: Context) -> pb.GetUsageResponse:
        """Return the usage of one assistant."""
        usage = await self.reports.of(request.id, caller().identity)
        return pb.GetUsageResponse(usage=usage)

    async def ListUsage(
        self, request: pb.ListUsageRequest, context: Context
    ) -> pb.ListUsageResponse:
        """List the usage of assistants."""
        size = page_size(request.page_size)
        after = row_before(request.page_token)
        usages = await self.reports.listed(caller().identity, request.organization, after, size + 1)
        shown, token = cut(usages, size, lambda each: each.assistant_id)
        return pb.ListUsageResponse(assistants=shown, next_page_token=token)

    async def SummarizeUsage(
        self, request: pb.SummarizeUsageRequest, context: Context
    ) -> pb.SummarizeUsageResponse:
        """Sum up the usage of days."""
        size = page_size(request.page_size)
        skip = row_before(request.page_token)
        period = period_of(request)
        sums = await self.daily.sums(caller().identity, request, period, skip, size + 1)
        return pb.SummarizeUsageResponse(
            sums=sums[:size],
            next_page_token=write_token(str(skip + size)) if len(sums) > size else "",
            first_day=period.first.isoformat(),
            last_day=period.last.isoformat(),
        )

    async def ResetUsage(
        self, request: pb.ResetUsageRequest, context: Context
    ) -> pb.ResetUsageResponse:
        """Reset the usage of an assistant."""
        await self.reports.reset(request.id, caller().identity)
        usage = await self.reports.of(request.id, caller().identity)
        return pb.ResetUsageResponse(usage=usage)
