"""`heddle.usage.v1.UsageService`."""

from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1 import usage_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import Context, caller
from heddle_runtime.paging import cut, page_size, write_token
from heddle_runtime.permissions import require_service

from heddle_assistants.accounts.access import require_administrator
from heddle_assistants.repository.paging import row_before
from heddle_assistants.usage.days import DailyUsage, period_of
from heddle_assistants.usage.price_lookup import PriceLookup
from heddle_assistants.usage.prices import price_of
from heddle_assistants.usage.recording import Recording
from heddle_assistants.usage.reports import Reports
from heddle_assistants.usage.reservations import Reservations


class UsageServicer(pb_grpc.UsageServiceServicer):
    """Translates between the contract and what is kept of usage."""

    def __init__(
        self,
        recording: Recording,
        reservations: Reservations,
        reports: Reports,
        prices: PriceLookup,
        daily: DailyUsage,
    ) -> None:
        self._recording = recording
        self._reservations = reservations
        self._reports = reports
        self._prices = prices
        self._daily = daily

    async def RecordUsage(
        self, request: pb.RecordUsageRequest, context: Context
    ) -> pb.RecordUsageResponse:
        """Add to what is kept."""
        require_service(caller().identity)
        await self._recording.record(request)
        return pb.RecordUsageResponse()

    async def ReserveUsage(
        self, request: pb.ReserveUsageRequest, context: Context
    ) -> pb.ReserveUsageResponse:
        """Reserve what an answer may cost."""
        require_service(caller().identity)
        await self._reservations.reserve(request)
        return pb.ReserveUsageResponse()

    async def GetPrice(self, request: pb.GetPriceRequest, context: Context) -> pb.GetPriceResponse:
        """Return the price of a model."""
        require_service(caller().identity)
        prices = await self._prices.of(request.organization)
        model = request.model
        return pb.GetPriceResponse(price=price_of(prices, model.connector, model.model))

    async def ListPrices(
        self, request: pb.ListPricesRequest, context: Context
    ) -> pb.ListPricesResponse:
        """List the prices for the assistants of an organisation."""
        require_administrator(caller().identity, request.organization)
        return pb.ListPricesResponse(prices=await self._prices.listed(request.organization))

    async def GetUsage(self, request: pb.GetUsageRequest, context: Context) -> pb.GetUsageResponse:
        """Return what one assistant consumed."""
        usage = await self._reports.of(request.id, caller().identity)
        return pb.GetUsageResponse(usage=usage)

    async def ListUsage(
        self, request: pb.ListUsageRequest, context: Context
    ) -> pb.ListUsageResponse:
        """List what assistants consumed."""
        size = page_size(request.page_size)
        after = row_before(request.page_token)
        usages = await self._reports.listed(
            caller().identity, request.organization, after, size + 1
        )
        shown, token = cut(usages, size, lambda each: each.assistant_id)
        return pb.ListUsageResponse(assistants=shown, next_page_token=token)

    async def SummarizeUsage(
        self, request: pb.SummarizeUsageRequest, context: Context
    ) -> pb.SummarizeUsageResponse:
        """Sum up the usage of days."""
        size = page_size(request.page_size)
        skip = row_before(request.page_token)
        period = period_of(request)
        sums = await self._daily.sums(caller().identity, request, period, skip, size + 1)
        return pb.SummarizeUsageResponse(
            sums=sums[:size],
            next_page_token=write_token(str(skip + size)) if len(sums) > size else "",
            first_day=period.first.isoformat(),
            last_day=period.last.isoformat(),
        )

    async def ResetUsage(
        self, request: pb.ResetUsageRequest, context: Context
    ) -> pb.ResetUsageResponse:
        """Begin to count an assistant anew."""
        await self._reports.reset(request.id, caller().identity)
        return pb.ResetUsageResponse()
