"""The steps of `make fresh`, inside the minimal system: see `machine.py`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ORIGIN = "http://127.0.0.1:8080"
URL = f"{ORIGIN}/v1/chat/completions"
QUESTION = {
    "model": "lamb_assistant.1",
    "messages": [{"role": "user", "content": "What are the three phases of a changeset?"}],
    "stream": True,
    "max_tokens": 20,
}
START_SECONDS = 300
"""The first `make up` installs Node and builds the studio."""
MAX_DEMO_BYTES = 1_200_000_000


def main() -> int:
    """Run all steps and return the exit code."""
    run("make", "demo")
    check_size()
    check_up()
    run("make", "quick")
    # The commands of the README, as it shows them. Other tests of documents need git.
    run(".venv/bin/pytest", "-q", "tests/docs/test_readme.py")
    print("fresh: everything works", flush=True)
    return 0


def run(*command: str) -> None:
    """Run a command, print how long it takes, and exit if it fails."""
    print("fresh: $", *command, flush=True)
    start = time.monotonic()
    if code := subprocess.run(command, check=False).returncode:
        sys.exit(f"fresh: {' '.join(command)} failed with exit code {code}")
    print(f"fresh: took {time.monotonic() - start:.0f} s", flush=True)


def check_size() -> None:
    """Exit if the environment of the demo is larger than the README states."""
    size = 0
    for arguments in ("--apparent-size",), ():
        command = ["du", "-s", "--block-size=1", *arguments, ".venv"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        size = sum(int(line.split()[0]) for line in lines.splitlines())
        print(f"fresh: .venv uses {size / 1e9:.2f} GB", *arguments, flush=True)
    if size > MAX_DEMO_BYTES:
        sys.exit(f"fresh: the demo uses more than {MAX_DEMO_BYTES / 1e9} GB of disk")


def check_up() -> None:
    """Exit if `make up` does not answer from the collection of the demo, or has no studio."""
    print("fresh: $ make up", flush=True)
    process = subprocess.Popen(["make", "up"], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        stream = ask()
        check_studio()
        print(f"fresh: resident memory of the services: {resident_mib()} MiB", flush=True)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    if '"source"' not in stream or "phases" not in stream:
        sys.exit("fresh: make up does not answer from the collection of the demo")


def check_studio() -> None:
    """Exit if the studio and the documentation that `make up` built are not served."""
    with urllib.request.urlopen(f"{ORIGIN}/studio/", timeout=20) as response:
        shell = str(response.read(), "utf-8")
    scripts = re.findall(r'"(/studio/_app/immutable/[^"]+\.js)"', shell)
    if not scripts:
        sys.exit("fresh: /studio/ names no script")
    for path in scripts:
        with urllib.request.urlopen(ORIGIN + path, timeout=20) as response:
            if not response.read():
                sys.exit(f"fresh: {path} is empty")
    print(f"fresh: /studio/ is served with {len(scripts)} scripts", flush=True)
    try:
        urllib.request.urlopen(f"{ORIGIN}/docs/", timeout=20).close()
    except urllib.error.HTTPError as error:
        sys.exit(f"fresh: /docs/ is not served: {error}")


def ask() -> str:
    """Send the demo's question and return the stream. Retries until the service listens."""
    body = json.dumps(QUESTION).encode()
    request = urllib.request.Request(URL, body, {"content-type": "application/json"})
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return str(response.read(), "utf-8")
        except urllib.error.URLError as error:
            if isinstance(error, urllib.error.HTTPError) or time.monotonic() > end:
                sys.exit(f"fresh: make up does not answer: {error}")
            time.sleep(0.2)


def resident_mib() -> int:
    """Return the resident memory of all processes of this system, in MiB."""
    pages = 0
    for statistics in Path("/proc").glob("[0-9]*/statm"):
        pages += int(statistics.read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


if __name__ == "__main__":
    sys.exit(main())
