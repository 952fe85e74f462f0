"""The check of the gateway over HTTP."""

import json
import os
from http.client import HTTPConnection, HTTPException

from heddle_cli.doctor.findings import Finding

LISTEN, DEFAULT_LISTEN = "HEDDLE_GATEWAY_LISTEN", "127.0.0.1:8080"
_SECONDS = 10.0
_MAX_BYTES = 1024**2


def gateway_finding() -> Finding:
    """Check that the gateway of the settings in the environment answers."""
    listen = os.environ.get(LISTEN) or DEFAULT_LISTEN
    address = listen.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - nothing is bound
    connection = HTTPConnection(address, timeout=_SECONDS)
    try:
        connection.request("GET", "/health")
        health = json.loads(connection.getresponse().read(_MAX_BYTES))
        status = health["status"] if "services" in health else None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "strerror", None) or "it does not speak HTTP"
        remedy = f"Start Heddle, or set {LISTEN} as for its gateway."
        return Finding("gateway", "wrong", f"{address} cannot be reached: {reason}.", remedy)
    except (ValueError, TypeError):
        status = None
    finally:
        connection.close()
    if status is None:
        remedy = f"Stop that program, or choose another port with {LISTEN}."
        return Finding("gateway", "wrong", f"{address} is no gateway of Heddle.", remedy)
    return Finding("gateway", "ok", f"http://{address} answers: {status}.")
