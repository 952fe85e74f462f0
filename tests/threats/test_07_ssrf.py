"""Threat 7: a URL of an author or an organisation leads into the network of the operator.

For each place that takes a URL, see `tests/connector/test_egress.py` and
`tests/tools_service/{test_owner_servers,test_web_search,test_moodle,test_mcp_strangers}.py` and
`tests/knowledge/web/test_fetching.py`.
"""

import socket

import pytest
from heddle_runtime.http.egress import SETTING, Egress, EgressSettings, ForbiddenAddressError
from pydantic import ValidationError

PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),  # noqa: S104 - judged, not bound
    *("169.254.169.254", "100.64.0.1", "100.100.100.200", "198.18.0.1", "192.0.0.192"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fc00::1", "ff02::1"),
    *(
        "64:ff9b:1::1",
        "100::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
    ),
]
INTERNAL = [
    *("168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "2002:a83f:8110::1"),
    *("199.36.153.4", "199.36.153.11", "35.199.192.1", "2600:2d00:2:1000::1"),
    *("2600:2d00:2:2000::1", "161.26.0.10", "166.9.12.1", "183.60.83.19", "183.60.82.98"),
    # Teredo with Azure's address as its server, and as its client.
    *("2001:0:a83f:8110::1", "2001:0:808:808:0:0:57c0:7eef"),
]
"""Addresses of clouds, public by registry, and addresses of IPv6 that stand for one of them."""
PUBLIC = [
    *("8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"),
    *("168.63.129.17", "199.36.153.12", "166.12.0.1", "2600:2d00:2:3000::1", "2002:808:808::"),
]


def egress(allowed: str = "") -> Egress:
    return Egress(EgressSettings.model_validate({SETTING: allowed}).private_networks)


def test_only_public_addresses_are_permitted() -> None:
    assert [address for address in PRIVATE + INTERNAL if egress().permits(address)] == []
    assert [address for address in PUBLIC if not egress().permits(address)] == []


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "fd00::5", "8.8.8.8"])
def test_networks_can_be_allowed(address: str) -> None:
    assert egress("10.1.2.0/24, fd00::/8,").permits(address)
    assert not egress("10.1.2.0/24, fd00::/8").permits("10.1.3.3")


def test_the_operator_may_allow_an_internal_address_of_the_cloud() -> None:
    assert egress("199.36.153.8/30").permits("::ffff:199.36.153.9")
    assert not egress("199.36.153.8/30").permits("199.36.153.5")


def test_a_network_may_be_named_by_any_of_its_addresses() -> None:
    assert egress("10.1.2.3/24").permits("10.1.2.9")
    assert egress("10.1.2.3").permits("10.1.2.3")
    assert not egress("10.1.2.3").permits("10.1.2.4")


@pytest.mark.parametrize("text", ["intranet", "10.0.0.0/33", "*"])
def test_what_is_no_network_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValidationError, match="is no network such as"):
        egress(text)


def test_the_setting_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "10.0.0.0/8,192.168.0.0/16")
    assert [str(each) for each in EgressSettings().private_networks] == [
        *("10.0.0.0/8", "192.168.0.0/16"),
    ]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "::1", "0"]
)
async def test_a_host_counts_as_what_it_leads_to_however_it_is_written(host: str) -> None:
    with pytest.raises(ForbiddenAddressError):
        await egress().addresses(host, 80)
    assert await egress("0.0.0.0/8,127.0.0.0/8,::1").addresses(host, 80)


async def test_a_host_that_is_not_known_is_no_forbidden_one() -> None:
    with pytest.raises(socket.gaierror):
        await egress().addresses("no-such-host.invalid", 80)
