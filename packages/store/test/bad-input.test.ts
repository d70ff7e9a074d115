import { spanInputCodec } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { aSpan } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStoreServer, openStore, type SqlStore } from '../src/index.ts';
import { openApiDocument } from '../src/server/openapi-document.ts';
import { createStoreApp } from '../src/server/store-app.ts';
import { createTestDatabase, type TestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema?: { readonly $ref: string } }> };
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, { readonly properties?: Record<string, unknown> }> };
}

/** Made by way of JSON, as a client has it. */
const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;
const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    method,
    path,
    operation,
  })),
);

/** What no field of any request is. */
const junk: readonly unknown[] = [
  null,
  -1,
  1e308,
  0.5,
  '',
  'x\u0000\ud800',
  '__proto__',
  "'; DROP TABLE rollouts; --",
  [],
  [null],
  {},
  { constructor: { prototype: null } },
  true,
];
const deep = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`;

let store: SqlStore;
let app: ReturnType<typeof createStoreApp>;
let faults: unknown[];
let claimed: AttemptedRollout;

async function serve(opened: Promise<SqlStore>): Promise<void> {
  faults = [];
  store = await opened;
  claimed = await store.startRollout({ input: 1 });
  app = createStoreApp({
    store,
    apiKey: null,
    maxBodyBytes: 1_000_000,
    heartbeatMs: 60_000,
    closing: AbortSignal.abort(),
    onFault: (error) => faults.push(error),
  });
}

async function send(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  const response = await app.request(`http://localhost${path}`, {
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, text: await response.text() };
}

function bodiesFor(operation: Operation): readonly string[] {
  const reference = operation.requestBody?.content['application/json']?.schema?.$ref ?? '';
  const { properties = {} } = document.components.schemas[reference.replace('#/components/schemas/', '')] ?? {};
  const fields = Object.keys(properties);
  const wrong = fields.flatMap((field) => junk.map((value) => JSON.stringify({ [field]: value })));
  const all = junk.map((value) => JSON.stringify(Object.fromEntries(fields.map((field) => [field, value]))));
  return [...wrong, ...all, ...junk.map((value) => JSON.stringify(value)), '', '{', '\u0000', deep];
}

describe('SQLite', () => {
  beforeAll(() => serve(openStore(':memory:')));
  afterAll(() => store.close());
  describeBadInput();
});

describePostgres('PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await serve(openStore(database.url));
  });
  afterAll(async () => {
    await store.close();
    await database[Symbol.asyncDispose]();
  });
  describeBadInput();
});

function describeBadInput(): void {
  describeAnything();
  describeSpans();
  describeDepth();
  describeLateness();
}

function describeAnything(): void {
  describe('arbitrary input', () => {
    test('covers the fields of request bodies', () => {
      const bodies = routes.filter(({ operation }) => bodiesFor(operation).length > 2 * junk.length + 4);
      expect(bodies.length).toBeGreaterThan(20);
    });

    test.each(routes)('$route returns no internal errors or details', async ({ method, path, operation }) => {
      const names = ['rollouts', claimed.rolloutId, 'x%00%F0', "'--", '%ud800', '%2e%2e', 'a'.repeat(5000)];
      const paths = names.map((name) => path.replace(/\{\w+\}/g, name));
      const queries = (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'query')
        .flatMap(({ name }) =>
          junk.map((value) => `${paths[0]}?${name}=${encodeURIComponent(String(value).replace('\ud800', ''))}`),
        );
      const requests = [
        ...[...paths, ...queries].map((address) => [address, undefined] as const),
        ...(operation.requestBody === undefined
          ? []
          : bodiesFor(operation).map((body) => [paths[1] ?? path, body] as const)),
      ];
      for (const [address, body] of requests) {
        const { status, text } = await send(method, address, method === 'get' ? undefined : (body ?? '{}'));
        expect([status, status === 500 ? [address, body?.slice(0, 200), text] : null]).toEqual([
          expect.any(Number),
          null,
        ]);
        expect(text).not.toMatch(/\n {4}at |SQLITE|node_modules/);
      }
      expect(faults).toEqual([]);
    });
  });
}

function describeSpans(): void {
  describe('a span', () => {
    const wire = (fields: object = {}): object => {
      const { rolloutId, attempt } = claimed;
      return { ...spanInputCodec.encode(aSpan({ rolloutId, attemptId: attempt.attemptId })), ...fields };
    };
    const count = async (): Promise<number> => (await store.statistics()).totalSpans;

    test('is rejected above the size limit, with or without content length, and records nothing', async () => {
      const server = await createStoreServer({ store, port: 0, maxBodyBytes: 1_000_000 });
      const before = await count();
      const huge = wire({ attributes: { text: 'x'.repeat(1_000_001) } });
      for (const [path, body] of [
        ['/v1/agl/spans', huge],
        ['/v1/agl/spans/batch', { spans: [wire(), huge] }],
      ] as const) {
        const text = JSON.stringify(body);
        for (const bytes of [text, new Blob([text]).stream()]) {
          const init: RequestInit & { readonly duplex: 'half' } = { method: 'POST', body: bytes, duplex: 'half' };
          const response = await fetch(server.url + path, { ...init, headers: { 'content-type': 'application/json' } });
          const body = (await response.json()) as { readonly error: unknown };
          expect([response.status, body.error]).toMatchObject([
            413,
            { code: 'PAYLOAD_TOO_LARGE', remedy: expect.any(String) },
          ]);
        }
      }
      expect(await count()).toBe(before);
      await server.close();
    });

    test('that is invalid causes its whole batch to be rejected', async () => {
      const before = await count();
      const good = wire({ span_id: '1'.repeat(16) });
      const unknown = await send(
        'post',
        '/v1/agl/spans/batch',
        JSON.stringify({ spans: [good, wire({ attempt_id: 'at-unknown' })] }),
      );
      expect([unknown.status, JSON.parse(unknown.text).error.code]).toEqual([404, 'NOT_FOUND']);
      const shapeless = await send('post', '/v1/agl/spans/batch', JSON.stringify({ spans: [good, { name: 'x' }] }));
      expect([shapeless.status, JSON.parse(shapeless.text).error.details.issues[0].path]).toEqual([
        422,
        'spans[1].rollout_id',
      ]);
      expect(await count()).toBe(before);
    });

    test('that is sent twice is recorded once', async () => {
      const span = JSON.stringify(wire({ span_id: '2'.repeat(16) }));
      expect(JSON.parse((await send('post', '/v1/agl/spans', span)).text)).toMatchObject({ name: expect.any(String) });
      expect(await send('post', '/v1/agl/spans', span)).toEqual({ status: 201, text: 'null' });
    });
  });
}

function describeDepth(): void {
  test('a deeply nested input is rejected as a whole', async () => {
    const { total } = await store.queryRollouts();
    const { status, text } = await send('post', '/v1/agl/rollouts', `{"input": ${deep}}`);
    expect([status, text.slice(0, 300)]).toEqual([413, expect.stringContaining('more than 200 levels of nested JSON')]);
    expect((await store.queryRollouts({ limit: 1 })).total).toBe(total);
    expect(faults).toEqual([]);
  });
}

function describeLateness(): void {
  describe('a late update of a finished attempt', () => {
    test('is rejected when it would restart the attempt, and changes nothing', async () => {
      const { rolloutId } = await store.startRollout({ input: 1 });
      const path = `/v1/agl/rollouts/${rolloutId}/attempts/latest`;
      await send('post', path, JSON.stringify({ status: 'succeeded' }));
      const before = await store.getRollout(rolloutId);
      const late = { status: 'running', metadata: { late: true } };
      const { status, text } = await send('post', path, JSON.stringify(late));
      expect([status, JSON.parse(text).error]).toMatchObject([
        409,
        { code: 'ILLEGAL_TRANSITION', remedy: expect.any(String) },
      ]);
      expect(await store.getRollout(rolloutId)).toEqual(before);
    });

    test('is recorded when it is a span, and the rollout stays finished', async () => {
      const { rolloutId, attempt } = await store.startRollout({ input: 1 });
      await store.updateAttempt(rolloutId, 'latest', { status: 'failed' });
      const span = spanInputCodec.encode(aSpan({ rolloutId, attemptId: attempt.attemptId }));
      expect(await send('post', '/v1/agl/spans', JSON.stringify(span))).toMatchObject({ status: 201 });
      expect(await store.getRollout(rolloutId)).toMatchObject({ status: 'failed', attempt: { status: 'failed' } });
    });
  });
}
