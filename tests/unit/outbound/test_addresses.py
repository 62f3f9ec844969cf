"""Which addresses may be called."""

from ipaddress import ip_address

import pytest

from drover.outbound.addresses import is_public, literal


@pytest.mark.req("RM-11")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "::7f00:1",
        "2001:0:7f00:1::",
    ],
)
def test_addresses_of_other_networks_are_refused_however_they_are_written(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "203.0.112.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_addresses_of_the_internet_may_be_called(address):
    assert is_public(ip_address(address))


def test_names_are_told_from_addresses():
    assert literal("example.com") is None
    assert literal("127.0.0.1") == ip_address("127.0.0.1")
    assert literal("[::1]") == ip_address("::1")
    assert literal("fe80::1%eth0") == ip_address("fe80::1")
