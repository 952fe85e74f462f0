"""A server that speaks S3 and stores objects on disk, with a bucket: SeaweedFS from a wheel."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from runtime.ports import free_port

BUCKET = "heddle"
_KEY, _SECRET = "tester", "a-secret-of-tests"
_PATIENCE = 60.0
_ATTEMPTS = 3
_PARTS = ("master", "volume", "filer", "s3")


@dataclass(frozen=True)
class S3Server:
    """Where the server is."""

    url: str

    def settings(self, prefix: str) -> dict[str, str]:
        """Return the settings of services that use the bucket."""
        return {
            "HEDDLE_OBJECTS_URL": f"s3://{BUCKET}/{prefix}",
            "HEDDLE_OBJECTS_OPTIONS": json.dumps(self.options),
        }

    @property
    def options(self) -> dict[str, str]:
        """What clients of Heddle need to reach it."""
        return {
            "endpoint": self.url,
            "region": "us-east-1",
            "aws_access_key_id": _KEY,
            "aws_secret_access_key": _SECRET,
            "allow_http": "true",
        }

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of all objects."""
        pages = (
            self._client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        )
        return [each["Key"] for page in pages for each in page.get("Contents", [])]

    def create_bucket(self) -> None:
        """Create the bucket, which fails until the server is ready."""
        self._client().create_bucket(Bucket=BUCKET)
        self._client().put_object(Bucket=BUCKET, Key="first", Body=b"It can be written to.")
        self._client().delete_object(Bucket=BUCKET, Key="first")

    def _client(self) -> "boto3.client":
        timeouts = Config(connect_timeout=2, read_timeout=10, retries={"max_attempts": 0})
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=_KEY,
            aws_secret_access_key=_SECRET,
            region_name="us-east-1",
            config=timeouts,
        )


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run a server until the block is left."""
    for attempt in range(_ATTEMPTS):
        server, process = _started(folder / str(attempt))
        try:
            if _is_ready(server, process):
                yield server
                return
        finally:
            process.kill()
            process.wait()
    raise AssertionError("the S3 server does not start")


def _started(folder: Path) -> tuple[S3Server, "subprocess.Popen[bytes]"]:
    """Start a server. It ends at once if another process has taken one of its ports."""
    folder.mkdir()
    ports = {part: free_port() for part in _PARTS}
    options = [f"-{part}.port={port}" for part, port in ports.items()]
    options += [f"-{part}.port.grpc={free_port()}" for part in _PARTS]
    with (folder / "s3.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - a program of our environment
            [
                *(str(Path(sys.executable).with_name("weed")), "server", f"-dir={folder}"),
                *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"),
                *("-s3.port.iceberg=0", "-s3.port.lance=0"),
                *("-volume.max=20", "-master.volumeSizeLimitMB=64", *options),
            ],
            env={**os.environ, "AWS_ACCESS_KEY_ID": _KEY, "AWS_SECRET_ACCESS_KEY": _SECRET},
            stdout=log,
            stderr=log,
        )
    return S3Server(f"http://127.0.0.1:{ports['s3']}"), process


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server for the tests of a module that imports this name."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


def _is_ready(server: S3Server, process: "subprocess.Popen[bytes]") -> bool:
    """Wait until a server is ready. Return False if it has ended."""
    end = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            server.create_bucket()
        except (BotoCoreError, ClientError):
            time.sleep(0.1)
        else:
            return True
    return False
