"""What a connection says of where its client is."""

from pytest_twisted import ensureDeferred


@ensureDeferred
async def test_the_address_is_the_sockets_and_what_a_proxy_claims_is_kept_as_it_came(listening):
    host = await listening(token=None)
    claims = b"X-Forwarded-For: 203.0.113.9, <unknown>\r\nX-Forwarded-For: b\r\n"
    _, claimed = await host.opened(headers=claims)
    _, plain = await host.opened()
    assert claimed.connection.address == plain.connection.address == "127.0.0.1"
    assert claimed.connection.forwarded_for == "203.0.113.9, <unknown>, b"
    assert plain.connection.forwarded_for is None
