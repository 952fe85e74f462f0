"""`heddle collections`."""

from typing import Annotated

import typer
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub

from heddle_cli.connections import connected
from heddle_cli.options import AsJson
from heddle_cli.pages import whole
from heddle_cli.terminal import counted, out, show

app = typer.Typer(help="List and delete knowledge collections.", no_args_is_help=True)
_DELETING = 60.0
_MEMBERS = (
    *("id", "name", "title", "backend", "document_count"),
    *("organization", "owner", "language", "embedding_model"),
)


@app.command("list")
def list_collections(*, as_json: AsJson = False) -> None:
    """List the collections: name, backend, number of documents, title."""
    with connected("knowledge", KnowledgeServiceStub) as connection:
        request = knowledge_pb2.ListCollectionsRequest()
        collections = whole(connection.stub.ListCollections, request).collections
    members = [{name: getattr(each, name) for name in _MEMBERS} for each in collections]
    show(
        {"collections": members},
        ((c.name, c.backend, _size(c), c.title) for c in collections),
        as_json=as_json,
        without="There are no collections. `heddle ingest` creates one.",
    )


@app.command("connect")
def connect_collection(  # noqa: PLR0913 (each is an option that people type)
    name: Annotated[str, typer.Argument(help="The name of the new collection.")],
    *,
    server: Annotated[str, typer.Option(help="A name in search_servers of the settings.")],
    collection: Annotated[str, typer.Option(help="The collection's name there.")],
    text: Annotated[str, typer.Option(help="The field with the text.")] = "",
    title: Annotated[str, typer.Option(help="The field with the title.")] = "",
    uri: Annotated[str, typer.Option(help="The field with the address.")] = "",
    page: Annotated[str, typer.Option(help="The field with the page number.")] = "",
    vector: Annotated[str, typer.Option(help="The name of the vector, if there are several.")] = "",
    embedding_model: Annotated[str, typer.Option(help="The model of its vectors.")] = "",
) -> None:
    """Use a collection of Chroma, Qdrant or Weaviate. Heddle searches it and never changes it."""
    place = {"server": server, "collection_id": collection, "text": text, "title": title}
    place |= {"uri": uri, "page": page, "vector": vector}
    with connected("knowledge", KnowledgeServiceStub) as connection:
        options = connection.stub.GetCollectionOptions(knowledge_pb2.GetCollectionOptionsRequest())
        backends = {each.name: each.backend for each in options.search_servers}
        if server not in backends:
            known = ", ".join(backends) or "none"
            raise typer.BadParameter(f"must be a server of the organisation: {known}")
        new = knowledge_pb2.Collection(
            name=name,
            backend=backends[server],
            settings={key: value for key, value in place.items() if value},
            embedding_model=embedding_model,
            sharing=knowledge_pb2.SHARING_ORGANIZATION,
        )
        connection.stub.CreateCollection(knowledge_pb2.CreateCollectionRequest(collection=new))
    out.print(f"{name}: connected to {collection} of {server}")


@app.command("delete")
def delete_collection(
    name: Annotated[str, typer.Argument(help="The collection's name.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete a collection with its content."""
    with connected("knowledge", KnowledgeServiceStub) as connection:
        # Deleting is idempotent, so it would not report a mistyped name.
        request = knowledge_pb2.GetCollectionRequest(name=name)
        collection = connection.stub.GetCollection(request).collection
        if not yes:
            typer.confirm(f"Delete {name} with {_size(collection)}?", abort=True)
        connection.stub.DeleteCollection(
            knowledge_pb2.DeleteCollectionRequest(name=name), timeout=_DELETING
        )
    out.print(f"{name}: deleted")


def _size(collection: knowledge_pb2.Collection) -> str:
    if collection.backend not in ("", "embedded"):
        return "documents on another server"
    return counted(collection.document_count, "document")
