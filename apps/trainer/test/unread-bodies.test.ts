import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import { serveDashboard } from '@agentlightning/dashboard';
import { serveGateway } from '@agentlightning/gateway';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { createStoreServer, openStore } from '@agentlightning/store';
import { expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts a server, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

/** A server and the rejected requests of the test: by path, with the status of the response. */
interface TestedServer {
  readonly url: string;
  readonly key?: string;
  readonly rejected: readonly (readonly [path: string, status: number])[];
  close(): Promise<unknown>;
}

const key = 'the key of the test, long enough';

function closes(...closed: readonly { close(): Promise<unknown> }[]): () => Promise<void> {
  return async () => {
    for (const each of closed) await each.close();
  };
}

const servers: Readonly<Record<string, (folder: RunFolder) => Promise<TestedServer>>> = {
  'the store': async () => {
    const store = await openStore(':memory:');
    const server = await createStoreServer({ store, port: 0, apiKey: key });
    return {
      url: server.url,
      rejected: [
        ['/v1/agl/unknown', 401],
        ['/unknown', 401],
        ['/v1/agl/spans', 401],
      ],
      close: closes(server, store),
    };
  },
  'the gateway': async () => {
    const store = await openStore(':memory:');
    const gateway = await serveGateway({
      store,
      upstream: { baseUrl: 'http://127.0.0.1:9/v1', model: 'none' },
      maxBodyBytes: 100,
    });
    return {
      url: gateway.url,
      rejected: [
        ['/unknown', 413],
        ['/v1/chat/completions', 413],
      ],
      close: closes(gateway, store),
    };
  },
  'the dashboard': async () => {
    const store = await openStore(':memory:');
    const dashboard = await serveDashboard({ store });
    return {
      url: dashboard.url,
      rejected: [['/api/unknown', 404]],
      close: closes(dashboard, store),
    };
  },
  'the model API of the embedded runtime': async (folder) => {
    const runtime = await startCpuRuntime({ checkpointDir: path.join(folder.path, 'checkpoints') });
    return {
      url: new URL(runtime.inferenceUrl).origin,
      rejected: [['/v1/chat/completions', 401]],
      close: runtime.close,
    };
  },
  'agl server': async (folder) => {
    const flags = ['--data', folder.path, '--port', '0', '--model', 'tiny-random'];
    const server = new AglProcess(['server', ...flags]);
    const { url, keyFile } = await server.event('ready');
    return {
      url: String(url),
      key: readFileSync(String(keyFile), 'utf8').trim(),
      rejected: [
        ['/v1/server/unknown', 404],
        ['/v1/server/runs', 413],
        ['/v1/agl/unknown', 404],
        ['/rollout/ro-1/unknown', 404],
        ['/api/unknown', 404],
      ],
      close: () => server[Symbol.asyncDispose](),
    };
  },
};

/** A client with one connection. */
class KeepAliveClient {
  readonly sockets: Set<Socket> = new Set();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  async send(
    url: string,
    { body, headers = {} }: { readonly body?: string; readonly headers?: object },
  ): Promise<number> {
    return await new Promise((resolve, reject) => {
      const sent = request(url, {
        agent: this.#agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers },
      });
      sent.on('socket', (socket) => this.sockets.add(socket));
      sent.on('error', reject);
      sent.on('response', (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

test.each(Object.keys(servers))(
  '%s keeps the connection of a request that it rejects without reading it',
  async (name) => {
    using folder = new RunFolder();
    const server = await servers[name]?.(folder);
    if (server === undefined) return expect.unreachable();
    const authorization = server.key === undefined ? {} : { authorization: `Bearer ${server.key}` };
    const body = JSON.stringify({ text: 'x'.repeat(3_000_000) });
    for (const [path, status] of server.rejected) {
      for (const encoding of [{ 'content-length': String(body.length) }, { 'transfer-encoding': 'chunked' }]) {
        using client = new KeepAliveClient();
        const headers = { 'content-type': 'application/json', ...authorization, ...encoding };
        const rejection = await client.send(`${server.url}${path}`, { body, headers });
        expect([path, encoding, rejection]).toEqual([path, encoding, status]);
        // The listener of Hono ends connections with unread bodies after half a second.
        for (const endMs = performance.now() + 700; performance.now() < endMs; ) {
          await client.send(`${server.url}/`, {});
        }
        expect([path, encoding, client.sockets.size]).toEqual([path, encoding, 1]);
      }
    }
    await server.close();
  },
);
