"""The process that runs the engine: `python -m heddle_connector.connectors.local.engine`.

The engine holds Python's lock while it loads a model, for seconds. It serves HTTP on a local port.
"""

import os
import sys
import threading
from importlib import import_module
from typing import Any

import msgspec

from heddle_connector.connectors.local.engine_options import EngineOptions, EngineStart
from heddle_connector.connectors.local.openmp import provide_openmp

# The engine checks for cancellation after so many prompt tokens. As fast as the default of 2048.
_BATCH_TOKENS = 64
_WAITING_CALLS = 16
"""Calls that may wait for a slot, each in a thread of the engine."""


def main() -> None:
    """Load the model, report the address, and serve until the standard input ends."""
    output = os.dup(1)
    os.dup2(2, 1)  # the engine prints
    options = msgspec.json.decode(sys.stdin.buffer.readline(), type=EngineOptions)
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        server = _load(options)
        start = EngineStart(address=server.listening_address)
    except (ImportError, ValueError, RuntimeError) as error:
        start = EngineStart(problem=str(error))
    os.write(output, msgspec.json.encode(start) + b"\n")
    os.close(output)
    threading.Event().wait()


def _end_with_input() -> None:
    """End this process with the connector, also if that was killed or the model is loading."""
    sys.stdin.buffer.read()
    os._exit(0)  # freeing the engine while it works crashes the process


def _load(options: EngineOptions) -> Any:  # noqa: ANN401 - the engine has no types
    provide_openmp()
    engine = import_module(options.engine)
    params = engine.CommonParams()
    params.model.path = options.path
    params.model_alias = {options.name}
    params.n_parallel = options.slots
    params.n_ctx = options.context * options.slots  # the engine divides it among the slots
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.n_predict = options.max_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.cache_ram_mib = options.cache_mib  # its own default is 8 GiB
    params.fit_params = False  # it would try other sizes than the configured ones
    params.verbosity = -1
    params.api_keys = [options.key]
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.n_threads_http = options.slots + _WAITING_CALLS
    return engine.Server(params)


if __name__ == "__main__":
    main()
