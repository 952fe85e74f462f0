"""The process that embeds passages: `python -m heddle_tools_service.knowledge.embedding_worker`."""

import msgspec

from heddle_tools_service.knowledge.errors import EmbeddingError
from heddle_tools_service.knowledge.frames import EmbedReply, EmbedRequest, serve
from heddle_tools_service.knowledge.minilm import MiniLm


def main() -> None:
    """Embed what the service sends, until it goes."""
    model: MiniLm | None = None

    def handle(payload: bytes) -> bytes:
        nonlocal model
        request = msgspec.msgpack.decode(payload, type=EmbedRequest)
        try:
            model = model or MiniLm()
            reply = EmbedReply(vectors=model.embed(request.texts).tobytes())
        except EmbeddingError as error:
            reply = EmbedReply(error=str(error))
        return msgspec.msgpack.encode(reply)

    serve(handle)


if __name__ == "__main__":
    main()
