"""A process that stands for a daemon: it answers a WebSocket as it was told, and notes what came.

`python answering_host.py NOTES ANSWERS`: prints its URL; `ANSWERS` is a JSON file of results and
errors by method; every request but the handshake's goes to `NOTES`, one JSON line each.
"""

import json
import sys
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import IMessageHandler, IPeerFactory
from ahpd.transports.admission import Policy
from ahpd.transports.http import Router
from ahpd.transports.websocket import WebSocketListener
from ahpd.wire.codec import Frame


@implementer(IMessageHandler)
class Handler:
    def __init__(self, connection, notes, answers):
        self.connection, self.notes, self.answers = connection, notes, answers

    def message_received(self, data):
        said = json.loads(data)
        if "id" not in said:
            return
        if said["method"] == "initialize":
            result = {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []}
            answer = {"result": result}
        else:
            with self.notes.open("a") as file:
                file.write(json.dumps([said["method"], said["params"]]) + "\n")
            answer = self.answers.get(said["method"], {"error": {"code": -32601, "message": "no"}})
        self.connection.send(
            Frame(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer}).encode())
        )

    def connection_lost(self, reason):
        pass


@implementer(IPeerFactory)
class Handlers:
    def __init__(self, notes, answers):
        self.notes, self.answers = notes, answers

    def accept(self, connection):
        return Handler(connection, self.notes, self.answers)


def main(notes, answers, token):
    peers = Handlers(Path(notes), json.loads(Path(answers).read_text()))
    listener = WebSocketListener(
        reactor, "tcp:0:interface=127.0.0.1", peers, Policy(token=token), Router()
    )
    listener.startService()
    said = Deferred.fromCoroutine(listener.when_listening())
    said.addCallback(lambda url: print(url, flush=True))
    reactor.run()


main(*sys.argv[1:])
