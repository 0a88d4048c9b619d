"""The bare Autobahn baseline: a server whose only work is to broadcast one payload.

Takes one JSON object on its command line: `{"payload", "deltas", "batch", "mode"}`.
It prints its port, and when a connection under `/control` says anything it sends
the payload `deltas` times to every other connection, `batch` of them a turn of the
reactor. `mode` is `shipped` (`sendMessage` on each) or `prepared` (`prepareMessage`
once for each delta, `sendPreparedMessage` on each). Nothing about the protocol's
defaults is changed: no compression is agreed because the reader offers none.

With `rate` it sends so many deltas a second instead, prepared, with Nagle's algorithm
off and two clocks in each where the payload has `@0/0@` (`reader.STAMPS`): what the
machine and a bare server make of the same pace.
"""

import json
import sys
import time

from autobahn.twisted.websocket import WebSocketServerFactory, WebSocketServerProtocol
from twisted.internet import reactor


class Broadcaster(WebSocketServerFactory):
    """Holds the clients and sends to all of them."""

    def __init__(self, task):
        super().__init__()
        self.payload = task["payload"].encode()
        self.left = task["deltas"]
        self.batch = task["batch"]
        self.prepared = task["mode"] == "prepared"
        self.rate = task.get("rate")
        self.clients = []

    def begin(self):
        """Somebody said go."""
        if self.rate:
            self.began = time.monotonic_ns() + 50_000_000
            self.step = 1_000_000_000 // self.rate
            self.said = 0
            self.paced()
        else:
            self.turn()

    def paced(self):
        """Every delta that is due, then wait for the next."""
        while self.said < self.left:
            due = self.began + self.said * self.step
            wait = due - time.monotonic_ns()
            if wait > 0:
                reactor.callLater(wait / 1e9, self.paced)
                return
            stamp = b"@%d/%d@" % (due, time.monotonic_ns())
            message = self.prepareMessage(self.payload.replace(b"@0/0@", stamp))
            for client in self.clients:
                client.sendPreparedMessage(message)
            self.said += 1

    def turn(self):
        """One turn of the reactor: a batch of deltas, each to every client."""
        for _ in range(min(self.batch, self.left)):
            self.left -= 1
            if self.prepared:
                message = self.prepareMessage(self.payload)
                for client in self.clients:
                    client.sendPreparedMessage(message)
            else:
                payload = self.payload
                for client in self.clients:
                    client.sendMessage(payload)
        if self.left:
            reactor.callLater(0, self.turn)


class Connection(WebSocketServerProtocol):
    """A client, or the one connection that says when to begin."""

    def onConnect(self, request):
        self.control = request.path == "/control"

    def onOpen(self):
        if not self.control:
            self.factory.clients.append(self)
            if self.factory.rate:
                self.transport.setTcpNoDelay(True)

    def onMessage(self, payload, isBinary):
        self.factory.begin()


def main():
    """Serve until killed."""
    factory = Broadcaster(json.loads(sys.argv[1]))
    factory.protocol = Connection
    port = reactor.listenTCP(0, factory, interface="127.0.0.1", backlog=2048)
    print(port.getHost().port, flush=True)
    reactor.run()


if __name__ == "__main__":
    main()
