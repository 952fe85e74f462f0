"""`/creator/assistant/…`: what LAMB's own frontend and command call.

The paths, the members and their names are LAMB's; failures tell their message under `detail`, too.
"""

from typing import TYPE_CHECKING, Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.migration.v1 import record_pb2
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import AlreadyExistsError

from heddle_gateway.admin.assistants import TIMEOUT, attachment
from heddle_gateway.http import etags, query_parameters
from heddle_gateway.http.body import read_object
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.lamb import assistant_records
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

MOST_LISTED = 100
FARTHEST = 2**31 - 1
"""Records before a page, as many as the contract can count."""
_FRESH = (b"cache-control", b"no-cache, no-store, must-revalidate")


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET …/get_assistant/{id}`."""
    found = await _record(state, exchange)
    return _reply(found.record, found.etag)


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET …/get_assistants`."""
    limit = query_parameters.whole(exchange, "limit", 10, low=1, high=MOST_LISTED)
    skipped = query_parameters.whole(exchange, "offset", 0, low=0, high=FARTHEST)
    request = record_pb2.ListRecordsRequest(page_size=limit, skip=skipped)
    page = await ask(state.services.records.ListRecords, request, TIMEOUT)
    found, total = list(page.records), page.total_size
    while page.next_page_token and len(found) < limit:  # a page of large records is cut short
        following = record_pb2.ListRecordsRequest(
            page_size=limit - len(found), page_token=page.next_page_token
        )
        page = await ask(state.services.records.ListRecords, following, TIMEOUT)
        found += page.records
    identity = caller().identity
    shown = [assistant_records.view(each, identity) for each in found]
    return RawResponse.json({"assistants": shown, "total_count": total})


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST …/create_assistant`."""
    given, place = await read_object(state, exchange)
    made = assistant_records.record(given, place)
    if not made.name.strip():
        raise place.at("name").wrong("is required")
    made.name = assistant_records.plain_name(made.name)
    request = record_pb2.CreateRecordRequest(record=made)
    try:
        kept = (await ask(state.services.records.CreateRecord, request, TIMEOUT)).record
    except AlreadyExistsError as error:  # LAMB's frontend looks for these words
        message = f"An assistant named '{made.name}' already exists for this owner."
        raise AlreadyExistsError(message) from error
    told = {
        "assistant_id": assistant_records.number(kept.id),
        "name": kept.name,
        "description": kept.description,
        "owner": kept.owner,
        "publish_status": None,
    }
    return RawResponse.json(told, 201)


async def update(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `PUT …/update_assistant/{id}`. What the body does not set stays as it is."""
    given, place = await read_object(state, exchange)
    changed = assistant_records.record(given, place)
    assistant_records.check_metadata(changed)
    if changed.HasField("name"):
        kept = (await _record(state, exchange)).record
        changed.name = assistant_records.told_name(kept.name, changed.name)
    request = record_pb2.UpdateRecordRequest(
        id=exchange.parameter, record=changed, etag=etags.expected(exchange)
    )
    kept_now = await ask(state.services.records.UpdateRecord, request, TIMEOUT)
    told = {
        "assistant_id": assistant_records.number(exchange.parameter),
        "message": "The assistant was updated.",
        "published": kept_now.record.published,
    }
    return RawResponse.json(told, headers=etags.header(kept_now.etag))


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE …/delete_assistant/{id}`."""
    request = pb.DeleteAssistantRequest(id=exchange.parameter, etag=etags.expected(exchange))
    await ask(state.services.assistants.DeleteAssistant, request, TIMEOUT)
    return RawResponse.json({"message": "The assistant was deleted."})


async def export(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET …/export/{id}`."""
    request = pb.ExportAssistantRequest(id=exchange.parameter)
    found = await ask(state.services.assistants.ExportAssistant, request, TIMEOUT)
    told = assistant_records.exported(found.document_json)
    return RawResponse.json(told, headers=attachment(exchange.parameter))


async def publish(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `PUT …/publish/{id}`."""
    given, place = await read_object(state, exchange)
    published = given.get("publish_status")
    if not isinstance(published, bool):
        raise place.at("publish_status").wrong("must be true or false")
    kept = (await _record(state, exchange)).record
    group = f"assistant_{exchange.parameter}"
    request = pb.PublishAssistantRequest(
        id=exchange.parameter,
        published=published,
        group_id=kept.group_id or group,
        group_name=kept.group_name or group,
        oauth_consumer_name=kept.name if published else "",
    )
    await ask(state.services.assistants.PublishAssistant, request, TIMEOUT)
    found = await _record(state, exchange)
    return _reply(found.record, found.etag)


async def _record(state: "State", exchange: RawRequest) -> record_pb2.GetRecordResponse:
    request = record_pb2.GetRecordRequest(id=exchange.parameter)
    return await ask(state.services.records.GetRecord, request, TIMEOUT)


def _reply(found: record_pb2.Record, etag: str) -> RawResponse:
    told: dict[str, Any] = assistant_records.view(found, caller().identity)
    return RawResponse.json(told, headers=(*etags.header(etag), _FRESH))
