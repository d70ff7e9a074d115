import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { operationRoutes, serverRoutes, specialRoutes } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';

vi.setConfig({ testTimeout: 240_000 });

/** A part of every record of the project that is attacked. */
const secret = 'secret-of-red';

/** Identifies the records of the attacked project, or records that do not exist. */
interface Ids {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly spanId: string;
  readonly runId: string;
  readonly workerId: string;
  readonly resourcesId: string;
  readonly digest: string;
  readonly model: string;
}

interface Route {
  readonly method: string;
  readonly path: string;
}

/** Names of path parameters by the names that other applications give them. */
const parameters: Readonly<Record<string, (path: string) => keyof Ids>> = {
  id: (path) => (path.startsWith('/api/runs') ? 'runId' : 'rolloutId'),
  span: () => 'spanId',
  deployment: () => 'runId',
};

/** The paths of an application of Hono, as its source registers them. */
function registered(folder: string): readonly Route[] {
  const root = path.resolve(import.meta.dirname, '../../..', folder);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  return files.flatMap((file) =>
    [...readFileSync(path.join(root, file), 'utf8').matchAll(/\bapp\.(get|post|put|delete)\('(\/[^'*]*)'/g)].map(
      ([, method = '', path = '']) => ({ method: method.toUpperCase(), path }),
    ),
  );
}

/** The paths of model APIs, which the gateway builds from parts. */
const modelPaths = ['chat/completions', 'completions', 'responses', 'messages', 'generate'].flatMap((name) => [
  { method: 'POST', path: `/v1/${name}` },
  { method: 'POST', path: `/rollout/:rolloutId/attempt/:attemptId/v1/${name}` },
]);
const modelLists = ['/v1/models', '/v1/models/:model', '/rollout/:rolloutId/attempt/:attemptId/v1/models'];

const routes: readonly Route[] = [
  ...Object.values({ ...operationRoutes, ...specialRoutes, ...serverRoutes }),
  ...registered('apps/dashboard/src/server'),
  ...registered('packages/gateway/src/routes'),
  ...modelPaths,
  ...modelLists.map((path) => ({ method: 'GET', path })),
];

/** Names the record in every field of every request. */
function bodyFor(ids: Ids): object {
  const { rolloutId, attemptId, spanId, runId, workerId, resourcesId, digest, model } = ids;
  const reference = { rollout_id: rolloutId, attempt_id: attemptId };
  const { traceId } = aSpan();
  const status = { status_code: 'OK' };
  const span = {
    ...reference,
    trace_id: traceId,
    span_id: spanId,
    name: 'x',
    status,
    attributes: {},
    events: [],
    links: [],
  };
  return {
    ...span,
    spans: [span],
    requests: [reference],
    attempts: [reference],
    rollouts: [{ input: 1, run_id: runId, resources_id: resourcesId }],
    rollout_ids: [rolloutId],
    rollout_id_in: [rolloutId],
    run_id: runId,
    run_ids: [runId],
    worker_id: workerId,
    resources_id: resourcesId,
    resources: { policy: { resource_type: 'prompt_template', template: 'x', engine: 'jinja' } },
    input: 1,
    timeout: 0,
    id: spanId,
    score: 1,
    metadata: { replaced: true },
    data: { train: digest, test: digest },
    training: { algorithm: { type: 'grpo', groupSize: 2 }, steps: 1, tasksPerStep: 1, from: { run: runId } },
    model,
    messages: [{ role: 'user', content: 'x' }],
    prompt: 'x',
  };
}

class Holder {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Sends a request, and returns the beginning of its response: streams do not end. */
  async send(route: Route, ids: Ids, prefix = ''): Promise<string> {
    const address = route.path.replace(/:(\w+)/g, (_, name: string) => {
      const value = ids[(parameters[name]?.(route.path) ?? name) as keyof Ids];
      if (value === undefined)
        throw new Error(`add the parameter ${name} of ${route.path} to the records of this test`);
      return encodeURIComponent(value);
    });
    const hasBody = route.method !== 'GET' && route.method !== 'DELETE';
    const query = `?attempt=${ids.attemptId}&runs=${ids.runId}&run_id=${ids.runId}&rollout_id=${ids.rolloutId}&offset=0&total_bytes=9`;
    const response = await fetch(`${this.#url}${prefix}${address}${query}`, {
      method: route.method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      ...(hasBody && { body: JSON.stringify(bodyFor(ids)) }),
    });
    let text = '';
    if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) await response.body?.cancel();
    else text = await response.text();
    return `${response.status} ${text}`;
  }
}

/** Reads the event stream of a route until it contains a text. */
async function eventsUntil(url: string, key: string, act: () => Promise<string>): Promise<string> {
  const aborted = new AbortController();
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal: aborted.signal });
  expect([url, response.status]).toEqual([url, 200]);
  const last = await act();
  let text = '';
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString();
    if (text.includes(last)) break;
  }
  aborted.abort();
  return text;
}

/** The response without ids and times, which differ in any case. */
function comparable(text: string, ids: Ids): string {
  // Requests about both have created records in the attacking project.
  const known = [...Object.entries(ids), ...Object.entries(missing)];
  const named = known.reduce((rest, [name, id]) => rest.replaceAll(id, name), text);
  return named
    .replace(/"[a-z]+-[0-9a-f]{8,}"/g, '"id"')
    .replace(/\d+(\.\d+)?/g, (digits) => (digits.length > 3 ? '0' : digits));
}

const missing: Ids = {
  rolloutId: 'ro-000000000000',
  attemptId: 'at-000000000000',
  spanId: '0000000000000001',
  runId: 'run-00000000',
  workerId: 'no-worker',
  resourcesId: 'rs-000000000000',
  digest: createHash('sha256').update('nothing').digest('hex'),
  model: 'run-00000000',
};

test('no key of one project reaches a record of another one by any route', async () => {
  using folder = new RunFolder();
  await using server = new AglProcess(['server', '--data', folder.path, '--port', '0', '--model', 'tiny-random']);
  const url = String((await server.event('ready'))['url']);
  const keys = new Map<string, string>();
  const admin = await openStore(folder.storeUrl);
  for (const project of ['red', 'blue']) {
    for (const role of ['trainer', 'worker', 'viewer'] as const) {
      const { key } = await admin.createAccessKey({ name: `${role} of ${project}`, role, project });
      keys.set(`${role} of ${project}`, key);
    }
  }
  await admin.close();
  const red = new Holder(url, keys.get('trainer of red') ?? '');
  const attacked = new StoreClient({ baseUrl: url, apiKey: keys.get('trainer of red') ?? '' });
  const attacking = new StoreClient({ baseUrl: url, apiKey: keys.get('trainer of blue') ?? '' });
  const data = `{"question":"${secret}"}\n`;
  const digest = createHash('sha256').update(data).digest('hex');
  const upload = `/v1/server/datasets/${digest}?offset=0&total_bytes=${data.length}`;
  const headers = { authorization: `Bearer ${keys.get('trainer of red')}` };
  await fetch(`${url}${upload}`, { method: 'PUT', headers, body: data });
  const training = { algorithm: { type: 'grpo', groupSize: 2 }, steps: 1, tasksPerStep: 1 };
  const created = await fetch(`${url}/v1/server/runs`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: secret, data: { train: digest, test: digest }, training }),
  });
  const { run_id: runId } = (await created.json()) as { readonly run_id: string };
  await attacked.updateWorker('worker-of-red', { note: secret });
  const { resourcesId } = await attacked.addResources({
    policy: { resourceType: 'prompt_template', template: secret, engine: 'jinja' },
  });
  const { rolloutId, attempt } = await attacked.startRollout({ input: secret, resourcesId });
  const span = aSpan({ rolloutId, attemptId: attempt.attemptId, attributes: { note: secret } });
  await attacked.appendSpans([span]);
  const own = await attacking.startRollout({ input: 1 });
  keys.set(
    'attempt of blue',
    await attacking.createAttemptToken({ rolloutId: own.rolloutId, attemptId: own.attempt.attemptId }),
  );
  const ids: Ids = {
    ...{ rolloutId, attemptId: attempt.attemptId, spanId: span.spanId, runId, resourcesId, digest },
    ...{ workerId: 'worker-of-red', model: runId },
  };
  const recorded = async (): Promise<readonly unknown[]> => [
    await attacked.getRollout(rolloutId),
    await attacked.getLatestAttempt(rolloutId),
    await attacked.querySpans({ rolloutId }),
    await attacked.getWorker('worker-of-red'),
    await attacked.getResources(resourcesId),
    (await attacked.getRun(runId)).name,
    await red.send(serverRoutes.getDataSet, ids),
  ];
  const before = await recorded();
  expect(JSON.stringify(before).split(secret).length).toBeGreaterThan(4);

  const accepted = new Set<string>();
  // Traces make records with the ids that the request has, in the attacking project: the last routes.
  const isOfTraces = ({ path }: Route): boolean => path.startsWith('/v1/agl/deployments/');
  const rounds = [routes.filter((route) => !isOfTraces(route)), routes.filter(isOfTraces)];
  const requests = rounds.flatMap((round) =>
    ['trainer', 'worker', 'viewer', 'attempt'].map((role) => ({ role, round })),
  );
  for (const { role, round } of requests) {
    const blue = new Holder(url, keys.get(`${role} of blue`) ?? '');
    for (const route of round) {
      const name = `${route.method} ${route.path} by ${role}`;
      const found = await blue.send(route, ids);
      const notFound = await blue.send(route, missing);
      // The measurements of the process change.
      if (route.path !== '/metrics') expect([name, comparable(found, ids)]).toEqual([name, comparable(notFound, ids)]);
      const selected = await blue.send(route, ids, '/projects/red');
      expect([name, selected]).toEqual([name, expect.stringMatching(/^40[134] /)]);
      expect([name, `${found} ${selected}`.includes(secret)]).toEqual([name, false]);
      if (!found.startsWith('400')) accepted.add(`${route.method} ${route.path}`);
    }
  }
  const refused = routes.map(({ method, path }) => `${method} ${path}`).filter((name) => !accepted.has(name));
  expect(refused).toEqual([]);
  for (const stream of ['/v1/agl/events', '/api/events']) {
    const number = stream.length;
    const text = await eventsUntil(`${url}${stream}`, keys.get('trainer of blue') ?? '', async () => {
      await attacked.createRun({ runId: `run-of-red-${number}`, name: secret, config: {} });
      await attacking.createRun({ runId: `run-of-blue-${number}`, name: 'own', config: {} });
      return `run-of-blue-${number}`;
    });
    expect([stream, text.includes('run-of-red')]).toEqual([stream, false]);
  }
  expect(await recorded()).toEqual(before);
  expect(['queued', 'running']).toContain((await attacked.getRun(runId)).status);
  for (const store of [attacked, attacking]) await store.close();
});
