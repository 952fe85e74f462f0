"""`/usage`: what assistants consumed, by day, assistant and model."""

from typing import Annotated, Literal

from heddle.usage.v1 import usage_pb2 as pb
from pydantic import Field

from heddle_gateway.admin.usage import MICROS, Count, Dollars
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Model, PageSize, PageToken, Text
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

Dimension = Literal["day", "assistant", "model", "organization"]
Day = Annotated[str, Field(pattern=r"^(\d{4}-\d\d-\d\d)?$", examples=["2026-11-24"])]
_DIMENSIONS = {
    name: pb.UsageDimension.Value(f"USAGE_DIMENSION_{name.upper()}")
    for name in ("day", "assistant", "model", "organization")
}
_NAMES = f"({'|'.join(_DIMENSIONS)})"
routes = Routes("assistants")


class UsageQuery(Model):
    """The query of a summary of usage."""

    page_size: PageSize
    page_token: PageToken
    by: str = Field(
        default="day",
        description="What to split by, separated by commas, in the order of the rows: `day`, "
        "`assistant`, `model`, `organization`. Empty for one sum.",
        examples=["assistant,model,day"],
        # Not checked by it: the message of the route lists the names.
        json_schema_extra={"pattern": f"^({_NAMES}(,{_NAMES})*)?$"},
    )
    first_day: Day = Field(
        default="",
        alias="from",
        description="The first day of UTC; by default 29 days before the last one.",
    )
    last_day: Day = Field(
        default="", alias="to", description="The last day of UTC; by default today."
    )
    assistant: Text = Field(
        default="",
        description="Only the assistants with these identifiers, separated by commas, at most "
        "1000.",
        examples=["7,12"],
    )
    organization: Text = Field(default="", description="Only assistants of this organisation.")


class UsageSum(Model):
    """A sum of usage. Members that the summary is not split by are null."""

    day: str | None
    assistant_id: str | None
    assistant_name: str | None
    connector: str | None
    model: str | None
    organization: str | None
    requests: Count
    usage_unknown: Count = Field(description="Requests whose tokens are unknown and not counted.")
    prompt_tokens: Count
    cached_tokens: Count
    completion_tokens: Count
    unpriced_tokens: Count = Field(
        description="Tokens without a known price. They are not part of `cost_usd`."
    )
    cost_usd: Dollars | None = Field(description="Null if no token has a known price.")


class UsageSummary(Model):
    """A page of sums."""

    first_day: str
    last_day: str
    sums: list[UsageSum] = Field(description="Days and assistants without usage have none.")
    next_page_token: str = Field(description="Empty on the last page.")


@routes.get("/usage", errors=(400,))
async def summarize(api: Call, query: UsageQuery) -> UsageSummary:
    """Sum up the usage of the caller's assistants, or of those that an administrator administers.

    Completions are counted about a second after they end, on the day of UTC on which they are
    counted. Deleted assistants count for administrators. A reset of counters changes nothing here.
    """
    names = query.by.split(",") if query.by else []
    for name in names:
        if name not in _DIMENSIONS:
            raise invalid("by", f"must be of {', '.join(_DIMENSIONS)}", "The query parameter")
    request = pb.SummarizeUsageRequest(
        by=[_DIMENSIONS[name] for name in names],
        first_day=query.first_day,
        last_day=query.last_day,
        assistant_ids=[each.strip() for each in query.assistant.split(",")]
        if query.assistant
        else [],
        organization=query.organization,
        page_size=query.page_size,
        page_token=query.page_token,
    )
    summary = await call(api.services.usage.SummarizeUsage, request)
    return UsageSummary(
        first_day=summary.first_day,
        last_day=summary.last_day,
        sums=[_sum(each) for each in summary.sums],
        next_page_token=summary.next_page_token,
    )


def _sum(message: pb.UsageSum) -> UsageSum:
    model = message.model if message.HasField("model") else None
    unpriced = message.unpriced_tokens
    return UsageSum.of(
        message.counts,
        day=message.day or None,
        assistant_id=message.assistant_id or None,
        assistant_name=message.assistant_name or None,
        connector=model and model.connector,
        model=model and model.model,
        organization=message.organization or None,
        unpriced_tokens=unpriced,
        cost_usd=message.cost_micros / MICROS if message.cost_micros or not unpriced else None,
    )
