import { roleRights, type StoreRoute } from '@agentlightning/core/protocol';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore, type SqlStore } from '../src/index.ts';
import { storeRoutes } from '../src/server/route-handler.ts';
import { createStoreApp } from '../src/server/store-app.ts';

type Json = Record<string, unknown>;
interface Operation {
  readonly operationId: string;
  readonly 'x-right'?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Json };
  readonly responses: Record<
    string,
    { readonly content?: Record<string, { readonly schema?: { readonly $ref: string } }> }
  >;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Json> };
}

let store: SqlStore;
let app: ReturnType<typeof createStoreApp>;
let document: Document;

beforeAll(async () => {
  store = await openStore(':memory:');
  app = createStoreApp({
    store,
    apiKey: null,
    maxBodyBytes: 1_000_000,
    heartbeatMs: 60_000,
    closing: new AbortController().signal,
    onFault: () => undefined,
  });
  document = (await (await app.request('http://localhost/v1/agl/openapi.json')).json()) as Document;
});

afterAll(() => store.close());

test('the document is OpenAPI 3.1', async () => {
  expect(document.openapi).toBe('3.1.0');
  expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toMatchObject({ valid: true });
});

test('the document has every route of the server, and no other', () => {
  const registered = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described.sort()).toEqual([...new Set(registered)].sort());
});

test('every route has its required right', () => {
  const rights = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations).map((operation) => operation['x-right']),
  );
  expect(new Set(rights)).toEqual(new Set(roleRights.admin));
});

test('every referenced schema exists, and every schema is referenced', () => {
  const referred = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, address]) => address));
  const named = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect([...referred].filter((address) => !named.includes(address ?? ''))).toEqual([]);
  // A stream of events refers to nothing: what its events carry stands beside it.
  expect(named.filter((address) => !referred.has(address))).toEqual(['#/components/schemas/Change']);
});

test('it describes required and optional fields and responses', () => {
  const spans = document.paths['/v1/agl/spans']?.get;
  expect(spans?.parameters?.filter(({ required }) => required)).toMatchObject([{ name: 'rollout_id', in: 'query' }]);
  const change = document.paths['/v1/agl/rollouts/{rolloutId}']?.post;
  expect(change?.parameters).toMatchObject([
    { name: 'rolloutId', in: 'path', required: true },
    { name: 'Idempotency-Key', in: 'header', required: false },
  ]);
  expect(change?.requestBody).toMatchObject({ required: true });
  expect(document.components.schemas.Span).toMatchObject({
    type: 'object',
    properties: { attributes: { type: 'object' }, status: { type: 'object' } },
    required: expect.arrayContaining([
      'rollout_id',
      'attempt_id',
      'trace_id',
      'span_id',
      'name',
      'status',
      'attributes',
    ]),
  });
});

describe('responses match their schema in the document', () => {
  const requests: readonly [method: 'get' | 'post', path: string, body?: unknown][] = [
    ['get', '/v1/agl/health'],
    ['get', '/v1/agl/statistics'],
    ['post', '/v1/agl/queues/rollouts/enqueue', { rollouts: [{ input: 1, run_id: 'run-1' }] }],
    ['post', '/v1/agl/queues/rollouts/dequeue', { worker_id: 'w' }],
    ['post', '/v1/agl/rollouts', { input: { a: 1 }, mode: 'val' }],
    ['get', '/v1/agl/rollouts'],
    ['post', '/v1/agl/rollouts/search', {}],
    ['get', '/v1/agl/rollouts/{rolloutId}'],
    ['post', '/v1/agl/rollouts/{rolloutId}', { metadata: { b: 1 } }],
    ['post', '/v1/agl/rollouts/{rolloutId}/attempts', {}],
    ['get', '/v1/agl/rollouts/{rolloutId}/attempts'],
    ['get', '/v1/agl/rollouts/{rolloutId}/attempts/latest'],
    ['post', '/v1/agl/rollouts/{rolloutId}/attempts/{attemptId}', { metadata: {} }],
    ['get', '/v1/agl/workers'],
    ['get', '/v1/agl/workers/{workerId}'],
    ['post', '/v1/agl/workers/{workerId}', { heartbeat_stats: {} }],
    ['post', '/v1/agl/resources', {}],
    ['get', '/v1/agl/resources'],
    ['get', '/v1/agl/resources/latest'],
    ['post', '/v1/agl/spans/next', 'the attempt'],
    ['post', '/v1/agl/spans/next/batch', { attempts: [] }],
    ['get', '/v1/agl/spans?rollout_id=ro-1'],
    ['post', '/v1/agl/searches/spans', {}],
    ['post', '/v1/agl/waits/rollouts', { rollout_ids: [], timeout: 0 }],
    ['post', '/v1/agl/runs', { run_id: 'run-2', name: 'two', config: {} }],
    ['get', '/v1/agl/runs'],
    ['get', '/v1/agl/runs/{runId}'],
    ['post', '/v1/agl/runs/{runId}', { status: 'finished' }],
    ['get', '/v1/agl/runs/{runId}/metrics'],
    ['get', '/v1/agl/runs/{runId}/statistics'],
    ['post', '/v1/agl/deletions/rollouts', { rollout_ids: [] }],
  ];
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    await store.createRun({ runId: 'run-1', name: 'one', config: {} });
    const { rolloutId } = await store.startRollout({ input: 1, workerId: 'w' });
    ids = { rolloutId, attemptId: 'latest', workerId: 'w', runId: 'run-1' };
  });

  test.each(requests)('%s %s', async (method, path, body) => {
    const [route = path] = path.split('?');
    const operation = document.paths[route]?.[method];
    const [status = ''] = Object.keys(operation?.responses ?? {});
    const reference = operation?.responses[status]?.content?.['application/json']?.schema?.$ref ?? '';
    const address = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
    const latest = await store.getLatestAttempt(ids.rolloutId ?? '');
    const attempt = { rollout_id: ids.rolloutId, attempt_id: latest?.attemptId };
    const response = await app.request(`http://localhost${address}`, {
      method: method.toUpperCase(),
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body === 'the attempt' ? attempt : body) }),
    });
    expect(String(response.status)).toBe(status);
    expect(Object.keys(document.components.schemas)).toContain(reference.replace('#/components/schemas/', ''));
    const codec = new Map<string, StoreRoute>(storeRoutes).get(operation?.operationId ?? '')?.response;
    expect(codec?.safeParse(await response.json())).toMatchObject({ success: true });
  });
});
