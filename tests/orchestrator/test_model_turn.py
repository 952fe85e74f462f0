"""What the orchestrator takes from a model that calls functions."""

from heddle.chat.v1.chat_pb2 import ToolCall
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent
from heddle_orchestrator.functions.tool_loop import ModelTurn


def test_each_call_has_an_id_of_its_own_whatever_ids_the_model_gives() -> None:
    model_ids = ["call_1_2", "", "call_1_2", "", "x"]
    turn = ModelTurn(1, client_functions=(), ids=set())

    shown = turn.take([RunEvent(tool_call=ToolCall(id=each, name="f")) for each in model_ids])

    ids = [call.id for call in turn.calls]
    assert shown == []
    assert (ids[0], ids[-1]) == ("call_1_2", "x")
    assert len(set(ids)) == len(model_ids)
