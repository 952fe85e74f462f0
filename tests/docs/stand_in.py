"""Takes the arguments of grpcurl that docs/grpcurl.md uses, calls `buf curl`, prints like grpcurl.

Calls, reflection and JSON are those of `buf curl`, so a call that works here works over the wire.
What only looks like grpcurl's is the form of a failed call's status and of a description.
"""

import argparse
import base64
import json
import subprocess
import sys
from typing import Any, NoReturn

import grpc
from docs.descriptions import description
from google.protobuf import any_pb2, json_format
from google.rpc import error_details_pb2  # noqa: F401 - known to the pool of messages from here on

_CODES = {code.name.lower(): code for code in grpc.StatusCode}
_CODES["canceled"] = grpc.StatusCode.CANCELLED  # the other spelling of buf
_STATUS = 64  # what grpcurl adds to a status to make an exit code


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser("grpcurl", allow_abbrev=False)
    parser.add_argument("-plaintext", action="store_true", required=True)
    parser.add_argument("-max-time", type=float)
    parser.add_argument("-d", dest="data")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("address")
    parser.add_argument("verb")
    parser.add_argument("symbol", nargs="?")
    options = parser.parse_args()
    if options.verb == "list":
        _list(options.address, options.symbol)
    elif options.verb == "describe":
        sys.stdout.write(description(options.address, options.symbol))
    else:
        _call(options)


def _list(address: str, service: str | None) -> None:
    what = "--list-methods" if service else "--list-services"
    names = _buf([what], address).stdout.split()
    if service:
        names = [name.replace("/", ".") for name in names if name.startswith(f"{service}/")]
    sys.stdout.write("".join(f"{name}\n" for name in sorted(names)))


def _call(options: argparse.Namespace) -> None:
    arguments = [f"--header={header}" for header in options.headers]
    if options.max_time is not None:
        arguments.append(f"--timeout={options.max_time:g}s")
    if options.data is not None:
        arguments.append(f"--data={options.data}")
    ran = _buf(arguments, f"{options.address}/{options.verb}")
    sys.stdout.write(ran.stdout)
    sys.stdout.flush()
    if ran.returncode:
        _fail(ran.stderr)


def _buf(arguments: list[str], address: str) -> "subprocess.CompletedProcess[str]":
    fixed = ["curl", "--protocol=grpc", "--http2-prior-knowledge"]
    ran = subprocess.run(  # noqa: S603 - the arguments of a test
        ["buf", *fixed, *arguments, f"http://{address}"],  # noqa: S607 - that of the environment
        capture_output=True,
        check=False,
        text=True,
    )
    if ran.returncode and not ran.stderr.lstrip().startswith("{"):
        sys.exit(ran.stderr)
    return ran


def _fail(text: str) -> NoReturn:
    """Print the status that `buf` found, as grpcurl would."""
    status: dict[str, Any] = json.loads(text)
    code = _CODES[status["code"]]
    lines = [
        "ERROR:",
        f"  Code: {code.name.title().replace('_', '')}",
        f"  Message: {status['message']}",
    ]
    if details := status.get("details"):
        lines.append("  Details:")
    for number, detail in enumerate(details or [], start=1):
        shown = _detail(detail).replace("\n", "\n    \t")
        lines.append(f"  {number})\t{shown}")
    sys.stderr.write("\n".join(lines) + "\n")
    sys.exit(_STATUS + code.value[0])


def _detail(detail: dict[str, str]) -> str:
    value = detail["value"]
    packed = any_pb2.Any(
        type_url=f"type.googleapis.com/{detail['type']}",
        value=base64.b64decode(value + "=" * (-len(value) % 4)),
    )
    return json_format.MessageToJson(packed)


if __name__ == "__main__":
    main()
