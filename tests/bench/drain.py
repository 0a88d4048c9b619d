"""A client that reads all it is sent and looks at none of it, until it is ended.

Run as a program with the host's address and the texts to send, each an argument; says
`ready` once the last of them was answered.
"""

import sys

import rawsocket

CHUNK = 1 << 20


def main() -> None:
    """Send the texts, wait for each answer, then read on and on."""
    address, *texts = sys.argv[1:]
    host, _, port = address.rpartition(":")
    sock = rawsocket.connect((host, int(port)))
    for text in texts:
        sock.sendall(rawsocket.client_frame(text.encode()))
        seen = b""
        while b'"id":' not in seen:
            seen = seen[-16:] + sock.recv(CHUNK)
    print("ready", flush=True)
    sock.settimeout(None)
    while sock.recv(CHUNK):
        pass


if __name__ == "__main__":
    main()
