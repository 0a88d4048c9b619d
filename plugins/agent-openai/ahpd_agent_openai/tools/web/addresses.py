"""Which addresses a fetch may reach: those of the public internet, and no other.

The table is IANA's registries of special-purpose addresses (RFC 6890 and those after it).
Of IPv6 nothing is reached but global unicast. An address that carries an IPv4 address in it
is what that address is. What a network translates by a prefix of its own cannot be known
here, nor that a public address is this machine's.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address

_V4: Final = tuple(
    (IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a carrier's internal address"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "a reserved address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_V6: Final = tuple(
    (IPv6Network(network), why)
    for network, why in (
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a private address"),
        ("ff00::/8", "a multicast address"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for documentation"),
        ("3fff::/20", "an address for documentation"),
    )
)
_GLOBAL: Final = IPv6Network("2000::/3")

#: Where an IPv6 address carries an IPv4 one: the network, and how far left its last bit is.
_CARRIERS: Final = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
#: The middle of an ISATAP address, whose last 32 bits are an IPv4 address.
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


def refusal(address: Address) -> str | None:
    """Why an address is not reached, to be read behind "it is"; None for one that may be."""
    if isinstance(address, IPv4Address):
        return next((why for network, why in _V4 if address in network), None)
    if address.scope_id is not None:
        return "an address of one link"
    for network, shift in _CARRIERS:
        if address in network:
            carried = IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
            why = refusal(carried)
            return None if why is None else f"{why} in another form"
    why = next((why for network, why in _V6 if address in network), None)
    if why is None and address not in _GLOBAL:
        return "a reserved address"
    if why is None and (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        why = refusal(IPv4Address(int(address) & 0xFFFFFFFF))
    return why


def read(text: str) -> Address | None:
    """The address written as `text`, in the one usual way of its family; None for anything else."""
    try:
        return ip_address(text)
    except ValueError:
        return None
