"""Addresses of services: single ones, lists and names."""

import json

import pytest
from heddle_runtime.settings.addresses import KnowledgeAddress, is_local
from heddle_runtime.settings.service import ServiceSettings, read
from heddle_runtime.settings.service_address import Location, list_target, parse, single_location


@pytest.mark.parametrize(
    ("address", "single"),
    [
        ("unix:/run/heddle/tools.sock", "unix:/run/heddle/tools.sock"),
        ("10.0.0.1:9102", "10.0.0.1:9102"),
        ("ipv4:10.0.0.1:9102", "10.0.0.1:9102"),
        ("[fd00::1]:9102", "[fd00::1]:9102"),
        ("localhost:9102", "localhost:9102"),
    ],
)
def test_one_address_is_one_replica(address: str, single: str) -> None:
    parsed = parse(address)

    assert (parsed.single, parsed.changes) == (single, False)
    assert parsed.locations == [Location(single)]
    assert single_location(address) == Location(single)


@pytest.mark.parametrize(
    ("address", "targets"),
    [
        ("ipv4:10.0.0.1:9102,10.0.0.2:9102", ["ipv4:10.0.0.1:9102", "ipv4:10.0.0.2:9102"]),
        ("10.0.0.1:9102, 10.0.0.2:9103", ["ipv4:10.0.0.1:9102", "ipv4:10.0.0.2:9103"]),
        ("[fd00::1]:1,[fd00::2]:1", ["ipv6:[fd00::1]:1", "ipv6:[fd00::2]:1"]),
    ],
)
def test_each_address_of_a_list_is_a_replica(address: str, targets: list[str]) -> None:
    parsed = parse(address)

    assert not parsed.changes
    assert [each.target for each in parsed.locations] == targets
    assert list_target(parsed.locations) == targets[0][:5] + ",".join(it[5:] for it in targets)


@pytest.mark.parametrize("form", ["knowledge:9105", "dns:///knowledge:9105", "dns:knowledge:9105"])
def test_a_name_is_looked_up(form: str) -> None:
    parsed = parse(form)

    assert (parsed.changes, parsed.locations) == (True, [])
    assert single_location(form) == Location("dns:///knowledge:9105")


async def test_names_and_addresses_may_be_mixed_and_name_their_own_certificates() -> None:
    locations = await parse("10.0.0.1:1,localhost:2,localhost:3,absent.invalid:4").resolve()

    assert locations == [
        Location("ipv4:10.0.0.1:1", "10.0.0.1:1"),
        Location("ipv4:127.0.0.1:2", "localhost:2"),
        Location("ipv4:127.0.0.1:3", "localhost:3"),
    ]


@pytest.mark.parametrize(
    "address",
    [
        *("", "knowledge", "knowledge:", "knowledge:0", "knowledge:65536", "a:x", "a:²", "a b:1"),
        *("a:1,,b:1", "a:1,b", "a:1,unix:/b", "http://knowledge:9105"),
        "dns://10.0.0.1/knowledge:9105",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="is no address: write HOST:PORT"):
        parse(address)


class ClientSettings(ServiceSettings):
    """Settings of a client of the knowledge service."""

    knowledge_address: KnowledgeAddress = "none"


def test_a_setting_that_is_no_address_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEDDLE_KNOWLEDGE_ADDRESS", "10.0.0.1:9105,10.0.0.2")
    with pytest.raises(SystemExit):
        read(ClientSettings, [])

    line = json.loads(capsys.readouterr().err)
    assert line["setting"] == "HEDDLE_KNOWLEDGE_ADDRESS"
    assert line["problem"].startswith("'10.0.0.2' is no address: write HOST:PORT")


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1:1,127.0.0.2:1", True),
        ("ipv4:127.0.0.1:1,127.0.0.2:1", True),
        ("127.0.0.1:1,10.0.0.1:1", False),
        ("dns:///localhost.example:1", False),
    ],
)
def test_a_list_is_local_if_all_of_its_addresses_are(address: str, local: bool) -> None:
    assert is_local(address) is local
