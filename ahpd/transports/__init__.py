"""How messages travel: WebSocket with admission, stdio, pairs in the process, and plain HTTP."""
