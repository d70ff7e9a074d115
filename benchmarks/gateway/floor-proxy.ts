/**
 * The floor of the benchmark: a minimal recording proxy with the same libraries. It forwards each call
 * with undici, streams the response through Hono, keeps a copy of it, and commits all copies of one turn of the event
 * loop in one SQLite transaction before it ends a response. No validation, authentication or translation.
 *
 * @module
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { stream } from 'hono/streaming';
import { Pool } from 'undici';

const [file = ':memory:', upstreamUrl = ''] = process.argv.slice(2);
const { origin, pathname } = new URL(upstreamUrl);
const pool = new Pool(origin, { connections: 512 });
const database = new DatabaseSync(file);
database.exec(
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE calls (request TEXT, response BLOB)',
);
const insert = database.prepare('INSERT INTO calls VALUES (?, ?)');

interface QueuedCall {
  readonly request: string;
  readonly response: Buffer;
  readonly done: () => void;
}
let queue: QueuedCall[] = [];

/** Resolves when the call is committed, together with all others of this turn. */
function record(request: string, response: Buffer): Promise<void> {
  return new Promise((done) => {
    if (queue.push({ request, response, done }) === 1) setImmediate(commit);
  });
}

function commit(): void {
  const calls = queue;
  queue = [];
  database.exec('BEGIN');
  for (const { request, response } of calls) insert.run(request, response);
  database.exec('COMMIT');
  for (const { done } of calls) done();
}

const app = new Hono();
app.post('/v1/chat/completions', async (context) => {
  const request = await context.req.text();
  const { statusCode, headers, body } = await pool.request({
    method: 'POST',
    path: `${pathname}/chat/completions`,
    headers: { 'content-type': 'application/json' },
    body: request,
  });
  const type = String(headers['content-type']);
  if (!type.startsWith('text/event-stream')) {
    const response = Buffer.from(await body.arrayBuffer());
    await record(request, response);
    return new Response(response, { status: statusCode, headers: { 'content-type': type } });
  }
  context.header('content-type', type);
  return stream(context, async (out) => {
    const chunks: Buffer[] = [];
    let held: Buffer | null = null;
    for await (const chunk of body) {
      if (held !== null) await out.write(held);
      held = chunk as Buffer;
      chunks.push(held);
    }
    await record(request, Buffer.concat(chunks));
    if (held !== null) await out.write(held);
  });
});

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server;
await once(server, 'listening');
process.on('message', () => {
  server.close();
  server.closeAllConnections();
  void pool.destroy();
  database.close();
  process.disconnect();
});
process.on('disconnect', () => process.exit(0));
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
