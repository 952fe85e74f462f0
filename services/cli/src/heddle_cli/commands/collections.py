"""`heddle collections`."""

from typing import Annotated

import typer
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub

from heddle_cli.connections import SOON, connected, new_call_options
from heddle_cli.options import KNOWLEDGE, KnowledgeAddress
from heddle_cli.pages import items
from heddle_cli.terminal import columns, notes, out

app = typer.Typer(help="List and delete knowledge collections.", no_args_is_help=True)
_SERVICE = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"]
_DELETING = 60.0


@app.command("list")
def list_collections(*, knowledge_address: KnowledgeAddress = KNOWLEDGE) -> None:
    """List the collections: name, backend, number of documents, title."""
    with connected(knowledge_address, _SERVICE) as connection:
        stub = KnowledgeServiceStub(connection.channel)
        collections = items(
            lambda token: stub.ListCollections(
                knowledge_pb2.ListCollectionsRequest(page_token=token), **new_call_options(SOON)
            ),
            lambda page: page.collections,
        )
    if not collections:
        notes.print("There are no collections. `heddle ingest` makes one.", style="dim")
    columns((c.name, c.backend, _size(c), c.title) for c in collections)


@app.command("delete")
def delete_collection(
    name: Annotated[str, typer.Argument(help="The collection's name.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    knowledge_address: KnowledgeAddress = KNOWLEDGE,
) -> None:
    """Delete a collection with everything in it."""
    with connected(knowledge_address, _SERVICE) as connection:
        stub = KnowledgeServiceStub(connection.channel)
        # Deleting is idempotent and so silent about a name that was mistyped; reading is not.
        request = knowledge_pb2.GetCollectionRequest(name=name)
        collection = stub.GetCollection(request, **new_call_options(SOON)).collection
        if not yes:
            typer.confirm(f"Delete {name} with {_size(collection)}?", abort=True)
        stub.DeleteCollection(
            knowledge_pb2.DeleteCollectionRequest(name=name), **new_call_options(_DELETING)
        )
    out.print(f"{name}: deleted")


def _size(collection: knowledge_pb2.Collection) -> str:
    if collection.backend not in ("", "embedded"):
        return "its documents elsewhere"
    count = collection.document_count
    return f"{count} {'document' if count == 1 else 'documents'}"
