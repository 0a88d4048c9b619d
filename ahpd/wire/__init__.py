"""JSON-RPC 2.0 without I/O: messages in, bytes out, ids both ways, line framing."""
