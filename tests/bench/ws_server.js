// The bare Node baseline: a `ws` server whose only work is to broadcast one payload.
// The same task, the same start and the same turns as autobahn_server.py: `batch`
// deltas in each turn of the event loop. The module's own defaults are left alone.
'use strict';
const { WebSocketServer, WebSocket } = require('ws');

const task = JSON.parse(process.argv[2]);
const payload = Buffer.from(task.payload);
let left = task.deltas;
const clients = [];

function turn() {
  for (let n = Math.min(task.batch, left); n > 0; n--) {
    left--;
    for (const client of clients) {
      if (client.readyState === WebSocket.OPEN) {
        client.send(payload, { binary: false });
      }
    }
  }
  if (left > 0) {
    setImmediate(turn);
  }
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, backlog: 2048 });
server.on('connection', (client, request) => {
  if (request.url === '/control') {
    client.on('message', turn);
  } else {
    clients.push(client);
  }
});
server.on('listening', () => console.log(server.address().port));
