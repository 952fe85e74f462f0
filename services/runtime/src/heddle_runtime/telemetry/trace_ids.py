"""Ids of traces. Imported only if traces are on."""

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from heddle_runtime.identity.call_metadata import caller

_PREFIX = "req_"
_DIGITS = 24


class RequestIdGenerator(RandomIdGenerator):
    """Makes the trace id of a request from its request id, so that log lines need no other one.

    An id that a client has chosen is no trace id: such a request has a trace context already.
    """

    def generate_trace_id(self) -> int:
        """Return the number in the id of the current request; a random one outside of requests."""
        request_id = caller().request_id
        digits = request_id.removeprefix(_PREFIX)
        if digits != request_id and len(digits) == _DIGITS:
            return int(digits, 16) or super().generate_trace_id()
        return super().generate_trace_id()
