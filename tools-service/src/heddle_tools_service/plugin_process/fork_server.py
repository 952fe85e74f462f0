"""The process from which the processes of plugins are forked.

It has imported what plugins need, so that a fork takes milliseconds and shares its memory. It runs
no code of plugins, has one thread, and ends when the service does.
"""

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from heddle_runtime.http.guarded_http import tls_context

from heddle_tools_service.plugin_process.serving import serve
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.confinement import confine
from heddle_tools_service.workers.confinement.limits import end_with_parent

CHANNEL, OUTPUT = 0, 1  # the order of the descriptors of a request


def main() -> None:
    """Serve the requests that arrive on standard input, a socket."""
    end_with_parent()
    requests = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    tls_context()  # loading certificates would take each fork 20 ms
    children: set[int] = set()
    signal.signal(signal.SIGCHLD, lambda *_: _reap(children))
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, frames.MAX_FORK_REQUEST_BYTES, 2)
        if not data:
            return
        request = json.loads(data)
        if "kill" in request:
            if request["kill"] in children:
                os.kill(request["kill"], signal.SIGKILL)
            continue
        # A child that ends at once must be in `children` before `_reap` discards it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        child = os.fork()
        if not child:
            requests.close()
            _run(request, descriptors)
        children.add(child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for each in descriptors:
            os.close(each)
        requests.send(json.dumps({"process": child}).encode())


def _reap(children: set[int]) -> None:
    with suppress(ChildProcessError):
        while (child := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            children.discard(child)


def _run(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    status = 1
    try:
        end_with_parent()
        if os.getppid() == 1:  # the fork server ended before the line above
            os._exit(status)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        channel = socket.socket(fileno=_with_standard_streams(descriptors))
        os.chdir("/")
        os.environ.update(request["environment"])
        confine([Path(each) for each in request["readable"]], request["memory_bytes"])
        serve(channel)
        status = 0
    except BaseException as error:  # noqa: BLE001 - the service reads it in the output
        sys.stderr.write(f"The process of the plugin failed: {error!r}\n")
    finally:
        os._exit(status)  # without what the fork server registered for its own end


def _with_standard_streams(descriptors: list[int]) -> int:
    """Use a descriptor for standard output, close all others, and return that of the channel."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    channel, output = os.dup(descriptors[CHANNEL]), descriptors[OUTPUT]
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.dup2(channel, 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    sys.stdout = open(1, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115 - it stays open
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115 - likewise
    return 3


if __name__ == "__main__":
    main()
