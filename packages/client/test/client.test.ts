import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { AgentLightningClient } from '../src/index.ts';

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function clientOf(listener: RequestListener, unreachableAfterMs = 5000): Promise<AgentLightningClient> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return new AgentLightningClient({ url: `http://127.0.0.1:${port}/`, apiKey: 'key\n', unreachableAfterMs });
}

const description = JSON.stringify({ version: '0.0.0', protocol: 1 });

test('a server that is too old is reported with the versions that go together', async () => {
  const client = await clientOf((_, response) => void response.end(JSON.stringify({ version: '0.0.1', protocol: 0 })));
  await expect(client.runs()).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('version 0.0.1 has protocol 0, and client 0.0.0 requires 1'),
    remedy: expect.stringContaining('@agentlightning/client@0.0.1'),
  });
});

test('requests are repeated while the server is unavailable', async () => {
  let requests = 0;
  const client = await clientOf((request, response) => {
    requests += 1;
    if (requests === 1) response.writeHead(503).end('starting');
    else if (request.url === '/v1/server') response.end(description);
    else response.end('{"items":[]}');
  });
  expect(await client.runs()).toEqual([]);
  expect(requests).toBe(3);
});

test('all runs are listed, a page at a time, also while runs are created', async () => {
  const ids = Array.from({ length: 450 }, (_, index) => `run-${index}`);
  const times = { create_time: 1, update_time: 1 };
  const client = await clientOf((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname === '/v1/server') return response.end(description);
    const [offset = 0, limit = 0] = ['offset', 'limit'].map((name) => Number(searchParams.get(name)));
    const items = ids.slice(offset, offset + limit).map((run_id) => ({
      run_id,
      name: run_id,
      status: 'finished',
      step: 1,
      training: {},
      reward_curve: [],
      ...times,
    }));
    ids.unshift(`new-${offset}`);
    return response.end(JSON.stringify({ items }));
  });
  const listed = (await client.runs()).map(({ runId }) => runId);
  expect(listed).toEqual(Array.from({ length: 450 }, (_, index) => `run-${index}`));
});

test('events continue after the last one when the connection is lost', async () => {
  const lastIds: unknown[] = [];
  const client = await clientOf((request, response) => {
    lastIds.push(request.headers['last-event-id']);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`id: ${lastIds.length}\ndata: {"type":"runners","runners":${lastIds.length}}\n\n`);
    if (lastIds.length === 1) setImmediate(() => response.destroy());
    else response.end('data: {"type":"unknown"}\n\ndata: {"type":"end","status":"finished"}\n\n');
  });
  const events: string[] = [];
  for await (const { type } of client.run('run-1').events()) events.push(type);
  expect(events).toEqual(['runners', 'runners', 'end']);
  expect(lastIds).toEqual(['0', '1']);
});

test('only missing parts of a data set are sent', async () => {
  const sent: string[] = [];
  const client = await clientOf(async (request, response) => {
    if (request.url === '/v1/server') return void response.end(description);
    if (request.method === 'GET') return void response.end('{"bytes":4,"complete":false}');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    sent.push(`${String(request.url).split('?')[1]} ${Buffer.concat(chunks).toString()}`);
    response.end('{"bytes":8,"complete":true}');
  });
  const data = await client.uploadData({ train: [{ a: 1 }], test: [{ a: 1 }] });
  expect(data.train).toBe(data.test);
  expect(sent).toEqual(['offset=4&total_bytes=8 :1}\n', 'offset=4&total_bytes=8 :1}\n']);
});

test('an upload continues after the parts of another client', async () => {
  let received = 0;
  const client = await clientOf(async (request, response) => {
    if (request.url === '/v1/server') return void response.end(description);
    if (request.method === 'GET') {
      return void response.end(JSON.stringify({ bytes: received, complete: received === 8 }));
    }
    const offset = Number(new URL(request.url ?? '', 'http://server').searchParams.get('offset'));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    // The other client was faster.
    received = Math.max(received, 4);
    if (offset !== received) {
      const error = { code: 'CONFLICT', message: 'wrong offset', remedy: '', details: { bytes: received } };
      return void response.writeHead(409).end(JSON.stringify({ error, detail: error.message }));
    }
    received += Buffer.concat(chunks).byteLength;
    response.end(JSON.stringify({ bytes: received, complete: received === 8 }));
  });
  await client.uploadData({ train: [{ a: 1 }], test: [{ a: 1 }] });
  expect(received).toBe(8);
});

test('a file that has become shorter is reported', async () => {
  const client = await clientOf((request, response) => {
    response.end(request.url === '/v1/server' ? description : '{"bytes":99,"complete":false}');
  });
  await expect(client.uploadData({ train: [{ a: 1 }], test: [{ a: 1 }] })).rejects.toMatchObject({ code: 'TASK_FILE' });
});

test('a URL without http, and a key over plain http to another machine, are refused', () => {
  expect(() => new AgentLightningClient({ url: 'localhost:4747', apiKey: 'key' })).toThrow('is not an http(s) URL');
  const remote = { url: 'http://train.example.com', apiKey: 'key' };
  expect(() => new AgentLightningClient(remote)).toThrow('Server key refused');
  expect(new AgentLightningClient({ ...remote, allowInsecureKey: true })).toBeInstanceOf(AgentLightningClient);
});

test('the former name of an option is an error before anything is sent', async () => {
  const client = await clientOf(() => expect.unreachable('no request'));
  const former: object = { workers: 4 };
  await expect(client.join('run-1', async () => 1, former)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining('"workers" is now "concurrency"'),
  });
});
