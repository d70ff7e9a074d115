import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { StoreClient } from '@agentlightning/core/store-client';
import { runRollouts } from '@agentlightning/runner';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type AglEvent, AglProcess, stepOf } from './agl-process.ts';
import smallConfig, { smallTasks } from './fixtures/small.config.ts';
import { RunFolder } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** A server with the requests of a client. */
class ServerUnderTest implements AsyncDisposable {
  readonly process: AglProcess;
  url = '';
  key = '';
  readonly #stop = new AbortController();

  private constructor(port: string) {
    const data = `${folder.path}/data`;
    this.process = new AglProcess(['server', '--data', data, '--port', port, '--model', 'tiny-random']);
  }

  static async start(port = '0'): Promise<ServerUnderTest> {
    const server = new ServerUnderTest(port);
    const ready = await server.process.event('ready');
    server.url = String(ready['url']);
    server.key = readFileSync(String(ready['keyFile']), 'utf8').trim();
    return server;
  }

  async send(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.key}` },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async upload(tasks: readonly unknown[]): Promise<string> {
    const text = tasks.map((task) => `${JSON.stringify(task)}\n`).join('');
    const digest = createHash('sha256').update(text).digest('hex');
    const size = Buffer.byteLength(text);
    const { body } = await this.send('PUT', `/v1/server/datasets/${digest}?offset=0&total_bytes=${size}`, text);
    expect(body).toEqual({ bytes: size, complete: true });
    return digest;
  }

  async createRun(training: object = {}): Promise<string> {
    const { train, test: held } = smallTasks;
    const data = { train: await this.upload([...train]), test: await this.upload([...held]) };
    const { body, status } = await this.send('POST', '/v1/server/runs', {
      name: 'small',
      data,
      training: {
        algorithm: { type: 'grpo', groupSize: 2, learningRate: 1e-3 },
        steps: 2,
        tasksPerStep: 3,
        evaluation: { tasks: 4 },
        ...training,
      },
    });
    expect({ status, body }).toMatchObject({ status: 201 });
    return String(body['run_id']);
  }

  /** Runs agents for a run in this process. */
  work(runId: string): void {
    const store = new StoreClient({ baseUrl: this.url, apiKey: this.key, unreachableAfterMs: 120_000 });
    void runRollouts({
      store,
      agent: smallConfig.agent,
      runId,
      concurrency: 8,
      signal: this.#stop.signal,
      graceMs: 0,
      gatewayUrl: `${this.url}/v1`,
      createAttemptToken: (request) => store.createAttemptToken(request),
    });
  }

  async status(runId: string): Promise<unknown> {
    return (await this.send('GET', `/v1/server/runs/${runId}`)).body['status'];
  }

  /** The events of a run until it has ended. */
  async events(runId: string): Promise<readonly AglEvent[]> {
    const response = await fetch(`${this.url}/v1/server/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${this.key}` },
    });
    const text = await response.text();
    return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as AglEvent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.process[Symbol.asyncDispose]();
  }
}

async function expectStatus(server: ServerUnderTest, runId: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect(await server.status(runId)).toBe(status), { timeout: 120_000, interval: 200 });
}

test('runs are trained in order, and the endpoint serves the trained model', async () => {
  await using server = await ServerUnderTest.start();
  const first = await server.createRun();
  const second = await server.createRun({ steps: 1 });
  expect((await server.send('GET', `/v1/server/runs/${second}`)).body).toMatchObject({ status: 'queued', position: 1 });
  server.work(first);
  server.work(second);
  const events = await server.events(first);
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['queued', 'started', 'stepped', 'finished', 'end']),
  );
  expect(await server.status(first)).toBe('finished');
  await expectStatus(server, second, 'finished');
  const { body } = await server.send('GET', `/v1/server/runs/${first}`);
  expect(body).toMatchObject({ step: 2, steps: 2, checkpoint: { step: 2 }, reward_before: expect.any(Number) });
  const { model } = (await server.send('POST', `/v1/server/runs/${first}/endpoint`)).body;
  const completion = await server.send('POST', '/v1/chat/completions', {
    model,
    messages: [{ role: 'user', content: 'How many?' }],
    max_tokens: 4,
  });
  expect(completion).toMatchObject({ status: 200, body: { choices: [{ message: { role: 'assistant' } }] } });
});

test('a killed server continues its runs, and a stopped run is resumed with its checkpoint', {
  tags: ['long'],
}, async () => {
  let runId = '';
  let port = '';
  {
    await using server = await ServerUnderTest.start();
    port = new URL(server.url).port;
    runId = await server.createRun({ steps: 3 });
    server.work(runId);
    await vi.waitFor(
      async () => expect((await server.send('GET', `/v1/server/runs/${runId}`)).body['step']).toBeGreaterThan(0),
      { timeout: 120_000, interval: 100 },
    );
    await server.process.kill();
  }
  await using server = await ServerUnderTest.start(port);
  server.work(runId);
  await server.send('POST', `/v1/server/runs/${runId}/stop`);
  await expectStatus(server, runId, 'stopped');
  await server.send('POST', `/v1/server/runs/${runId}/resume`);
  await expectStatus(server, runId, 'finished');
  // The record of the run has every step once; the event of a step that was saved at the kill may be missing.
  expect((await server.send('GET', `/v1/server/runs/${runId}`)).body).toMatchObject({
    step: 3,
    reward_curve: [expect.any(Number), expect.any(Number), expect.any(Number)],
  });
  const steps = (await server.events(runId)).filter(({ type }) => type === 'stepped').map(stepOf);
  expect(steps).toEqual(expect.arrayContaining([3]));
  expect(new Set(steps).size).toBe(steps.length);
  const { body } = await server.send('POST', `/v1/server/runs/${runId}/resume`);
  expect(body).toMatchObject({ error: { code: 'CONFLICT', message: expect.stringContaining('all of its 3 steps') } });
});

test('the server ends on SIGTERM with its current run queued, and has one key', async () => {
  let key = '';
  {
    await using server = await ServerUnderTest.start();
    key = server.key;
    const data = `${folder.path}/data`;
    expect(modesOf(data, ['.'])).toEqual({ '.': '700' });
    const secret = readdirSync(data).filter((name) => /^agl\.db|key|secret/.test(name));
    expect(secret).toEqual(expect.arrayContaining(['agl.db', 'server-key']));
    expect(modesOf(data, secret)).toEqual(Object.fromEntries(secret.map((name) => [name, '600'])));
    const runId = await server.createRun();
    await vi.waitFor(async () => expect(await server.status(runId)).toBe('running'), { timeout: 60_000 });
    server.process.terminate();
    expect(await server.process.exitCode()).toBe(0);
    expect(server.process.stderr).toContain('@agentlightning/client');
  }
  await using server = await ServerUnderTest.start();
  expect(server.key).toBe(key);
  expect((await server.send('GET', '/v1/server/runs')).body).toMatchObject({ items: [{ name: 'small' }] });
});

function modesOf(directory: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, (statSync(`${directory}/${name}`).mode & 0o777).toString(8)]));
}

test('bad input has an error that names it, and nothing is stored', async () => {
  await using server = await ServerUnderTest.start();
  const send = (method: string, path: string, body?: unknown) => server.send(method, path, body);
  const invalid = '{"question": 1}\n[1]\n';
  const digest = createHash('sha256').update(invalid).digest('hex');
  const rejected = await send('PUT', `/v1/server/datasets/${digest}?offset=0&total_bytes=${invalid.length}`, invalid);
  expect(rejected).toMatchObject({
    status: 400,
    body: { error: { code: 'TASK_FILE', message: expect.stringContaining('line 2') } },
  });
  expect((await send('GET', `/v1/server/datasets/${digest}`)).body).toEqual({ bytes: 0, complete: false });
  const train = await server.upload([{ question: 'a' }]);
  expect(await send('POST', '/v1/server/runs', { data: { train, test: train }, training: { stepz: 3 } })).toMatchObject(
    {
      status: 400,
      body: { error: { code: 'CONFIG', message: expect.stringContaining('did you mean "steps"') } },
    },
  );
  expect(await send('POST', '/v1/server/runs', { data: { train, test: digest } })).toMatchObject({ status: 404 });
  expect(await send('GET', '/v1/server/runs/run-unknown')).toMatchObject({ status: 404 });
  expect((await send('GET', '/v1/server/runs')).body).toEqual({ items: [] });
  for (const path of ['/v1/server', '/v1/agl/runs', '/v1/models', '/api/runs']) {
    const response = await fetch(`${server.url}${path}`, { headers: { authorization: 'Bearer wrong' } });
    expect({ path, status: response.status }).toEqual({ path, status: 401 });
  }
  const healthy = await fetch(`${server.url}/healthz`);
  expect(await healthy.json()).toEqual({ status: 'ok' });
});

/** Bodies that are no request, with the status of their response. */
const oddBodies: readonly (readonly [string, number])[] = [
  ['', 400],
  ['null', 400],
  ['[]', 400],
  ['"text"', 400],
  ['{', 400],
  ['\0', 400],
  ['{"data":null}', 400],
  ['{"data":[],"training":[]}', 400],
  ['{"data":{"train":1e999,"test":-1}}', 400],
  ['{"data":{"train":"../../server-key","test":"/etc/passwd"}}', 400],
  ['{"__proto__":{"data":{}},"constructor":{"prototype":{}}}', 400],
  [`{"data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
  [`{"name":"${'n'.repeat(200_000)}"}`, 400],
  [`{"name":"${'n'.repeat(300_000)}"}`, 413],
];

test('odd and large bodies are errors of the request', async () => {
  await using server = await ServerUnderTest.start();
  for (const [text, status] of oddBodies) {
    const created = await server.send('POST', '/v1/server/runs', text);
    expect([text.slice(0, 60), created]).toMatchObject([text.slice(0, 60), { status, body: { error: {} } }]);
    for (const action of ['stop', 'resume', 'endpoint']) {
      const { status: other } = await server.send('POST', `/v1/server/runs/run-unknown/${action}`, text);
      expect([400, 404, 413]).toContain(other);
    }
  }
  const dataSet = `/v1/server/datasets/${createHash('sha256').update('x').digest('hex')}`;
  const large = ' '.repeat(17 * 1024 * 1024);
  expect(await server.send('PUT', `${dataSet}?offset=0&total_bytes=20000000`, large)).toMatchObject({ status: 413 });
  for (const query of ['', 'offset=-1&total_bytes=1', 'offset=0&total_bytes=1e99', 'offset=NaN&total_bytes=x']) {
    expect([query, await server.send('PUT', `${dataSet}?${query}`, ' ')]).toMatchObject([query, { status: 400 }]);
  }
  expect((await server.send('GET', '/v1/server/runs')).body).toEqual({ items: [] });
});

test('a taken port and a missing GPU end the command with the reason', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await using taken = new AglProcess(['server', '--data', folder.path, '--port', String(port)]);
  expect(await taken.exitCode()).toBe(3);
  expect(taken.stderr).toContain(`the server cannot listen on 127.0.0.1:${port}`);
  other.close();
  await using gpus = new AglProcess(['server', '--data', folder.path, '--port', '0', '--gpus', '4']);
  expect(await gpus.exitCode()).toBe(2);
  expect(gpus.stderr).toContain('4 GPUs were requested');
});
