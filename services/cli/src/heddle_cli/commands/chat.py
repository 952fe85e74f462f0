"""`heddle chat`."""

from typing import Annotated

import typer
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.orchestrator.v1.orchestrator_pb2_grpc import OrchestratorServiceStub
from heddle_runtime.errors import ProviderGarbledError

from heddle_cli.connections import connected
from heddle_cli.terminal import notes
from heddle_cli.transcript import Transcript

_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended


def chat(
    assistant: Annotated[str, typer.Argument(help="The assistant's id or name.")],
    question: Annotated[str, typer.Argument(help="The question.")],
    *,
    trace: Annotated[bool, typer.Option("--trace", help="Show the prompt and the steps.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="The timeout in seconds.")] = 120.0,
) -> None:
    """Ask an assistant. The answer goes to standard output, everything else to standard error."""
    part = chat_pb2.ContentPart(text=question)
    request = orchestrator_pb2.RunCompletionRequest(
        assistant_reference=assistant,
        messages=[chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[part])],
        include_trace=trace,
    )
    transcript = Transcript()
    with connected("orchestrator", OrchestratorServiceStub) as connection:
        call = connection.stub.RunCompletion(request, timeout=timeout)
        try:
            for response in call:
                for event in response.events:
                    transcript.show(event)
        except KeyboardInterrupt:
            transcript.end_line()
            notes.print("Cancelled.", style="dim")
            raise typer.Exit(_INTERRUPTED) from None
        finally:
            call.cancel()  # the tools and the model stop as well
            transcript.end_line()
    if not transcript.done:
        raise ProviderGarbledError("The answer was cut off.")
    transcript.close()
