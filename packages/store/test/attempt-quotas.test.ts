import type { Attempt, SpanInput, Store } from '@agentlightning/core';
import { spanInputCodec } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { type AttemptQuotas, createStoreServer, openStore } from '../src/index.ts';
import { createTestDatabase } from './postgres/database.ts';
import { describePostgres } from './postgres/describe-postgres.ts';

interface Opened extends AsyncDisposable {
  readonly store: Store;
  /** Null for a store in process. */
  readonly url: string | null;
}

type Open = (quotas: Partial<AttemptQuotas>) => Promise<Opened>;

async function inProcess(location: string, quotas: Partial<AttemptQuotas>): Promise<Opened> {
  const store = await openStore(location, { quotas });
  return { store, url: null, [Symbol.asyncDispose]: () => store.close() };
}

async function overHttp(location: string, quotas: Partial<AttemptQuotas>): Promise<Opened> {
  const store = await openStore(location, { quotas });
  const server = await createStoreServer({ store, port: 0 });
  const client = new StoreClient({ baseUrl: server.url });
  return {
    store: client,
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await server.close();
      await store.close();
    },
  };
}

/** A function that makes spans of one attempt, each with another id. */
async function startAttempt(store: Store): Promise<(fields?: Partial<SpanInput>) => SpanInput> {
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  return spansOf(attempt, rolloutId);
}

function spansOf({ attemptId }: Attempt, rolloutId: string): (fields?: Partial<SpanInput>) => SpanInput {
  let count = 0;
  return (fields) => {
    count += 1;
    const { sequenceId: _own, ...span } = aSpan({ rolloutId, attemptId, spanId: `${count}`.padStart(16, '0') });
    return { ...span, ...fields };
  };
}

function exceeds(quota: keyof AttemptQuotas, limit: number, actual: number): object {
  const flag = quota.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    code: 'QUOTA_EXCEEDED',
    message: expect.stringContaining(`${quota} exceeded: ${actual} of at most ${limit}`),
    remedy: expect.stringMatching(new RegExp(`quotas\\.${quota} of openStore, or agl store --${flag}`)),
    details: { quota, limit, actual },
  };
}

function describeQuotas(open: Open): void {
  test('spans of an attempt', async () => {
    await using opened = await open({ maxAttemptSpans: 3 });
    const { store } = opened;
    const span = await startAttempt(store);
    const first = span();
    await store.appendSpans([first, span()]);
    await expect(store.appendSpans([span(), span()])).rejects.toMatchObject(exceeds('maxAttemptSpans', 3, 4));
    // Nothing of that request was recorded, a recorded span counts once, and another attempt has a separate quota.
    expect(await store.appendSpans([first, span()])).toMatchObject([null, { sequenceId: 3 }]);
    await expect(store.appendSpans([span()])).rejects.toMatchObject(exceeds('maxAttemptSpans', 3, 4));
    const other = await startAttempt(store);
    expect(await store.appendSpans([other()])).toHaveLength(1);
    expect((await store.querySpans({ rolloutId: first.rolloutId })).total).toBe(3);
  });

  test('bytes of an attempt', async () => {
    await using opened = await open({ maxAttemptBytes: 4000 });
    const { store } = opened;
    const span = await startAttempt(store);
    const attributes = { text: 'ä'.repeat(1000) };
    await store.appendSpans([span({ attributes })]);
    const error: unknown = await store.appendSpans([span({ attributes })]).catch((reason: unknown) => reason);
    const { actual } = (error as { readonly details: { readonly actual: number } }).details;
    expect(actual).toBeGreaterThan(4000);
    expect(actual).toBeLessThan(5500);
    expect(error).toMatchObject(exceeds('maxAttemptBytes', 4000, actual));
    expect(await store.appendSpans([span()])).toHaveLength(1);
  });

  test('bytes of a span, wherever they are', async () => {
    await using opened = await open({ maxSpanBytes: 2000 });
    const { store } = opened;
    const span = await startAttempt(store);
    for (const fields of [
      { attributes: { text: 'ä'.repeat(1050) } },
      { name: 'n'.repeat(2100) },
      { events: [{ name: 'e'.repeat(2100), timeMs: 1, attributes: {} }] },
    ]) {
      const refused = store.appendSpans([span(), span(fields)]);
      await expect(refused).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
        details: { quota: 'maxSpanBytes', limit: 2000 },
      });
    }
    expect((await store.querySpans({ rolloutId: span().rolloutId })).total).toBe(0);
  });

  test('events of a span', async () => {
    await using opened = await open({ maxSpanEvents: 2 });
    const { store } = opened;
    const span = await startAttempt(store);
    const event = { name: 'event', timeMs: 1, attributes: {} };
    expect(await store.appendSpans([span({ events: [event, event] })])).toHaveLength(1);
    const refused = store.appendSpans([span({ events: [event, event, event] })]);
    await expect(refused).rejects.toMatchObject(exceeds('maxSpanEvents', 2, 3));
  });

  test('dimensions of a reward', async () => {
    await using opened = await open({ maxRewardDimensions: 2 });
    const { store } = opened;
    const span = await startAttempt(store);
    const rewards = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          [`agentlightning.reward.${index}.name`, `dimension ${index}`] as const,
          [`agentlightning.reward.${index}.value`, 1] as const,
        ]).flat(),
      );
    expect(await store.appendSpans([span({ attributes: rewards(2) })])).toHaveLength(1);
    const refused = store.appendSpans([span({ attributes: rewards(3) })]);
    await expect(refused).rejects.toMatchObject(exceeds('maxRewardDimensions', 2, 3));
  });
}

describe.each<[name: string, open: Open]>([
  ['SQLite in process', (quotas) => inProcess(':memory:', quotas)],
  ['SQLite over HTTP', (quotas) => overHttp(':memory:', quotas)],
])('quotas of attempts, %s', (_name, open) => describeQuotas(open));

describePostgres('quotas of attempts, PostgreSQL', () => {
  describe.each([
    ['in process', inProcess],
    ['over HTTP', overHttp],
  ] as const)('%s', (_name, open) => {
    describeQuotas(async (quotas) => {
      const database = await createTestDatabase();
      const opened = await open(database.url, quotas);
      return {
        ...opened,
        [Symbol.asyncDispose]: async () => {
          await opened[Symbol.asyncDispose]();
          await database[Symbol.asyncDispose]();
        },
      };
    });
  });
});

test('a span beyond a quota is rejected by every route, and alone where the protocol allows it', async () => {
  await using opened = await overHttp(':memory:', { maxSpanEvents: 1 });
  const { store, url } = opened;
  const span = await startAttempt(store);
  const event = { name: 'event', timeMs: 1, attributes: {} };
  const tooMany = span({ events: [event, event] });
  for (const [path, body] of [
    ['/spans', spanInputCodec.encode(tooMany)],
    ['/spans/batch', { spans: [spanInputCodec.encode(tooMany)] }],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/agl${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect({ path, status: response.status }).toEqual({ path, status: 413 });
    expect(await response.json()).toMatchObject({ error: { code: 'QUOTA_EXCEEDED', remedy: expect.any(String) } });
  }
  const otherSpan = await startAttempt(store);
  const response = await fetch(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [otlp(tooMany), otlp(otherSpan())] }] }] }),
  });
  expect(await response.json()).toMatchObject({
    partialSuccess: { errorMessage: expect.stringContaining('maxSpanEvents exceeded: 2 of at most 1') },
  });
  expect((await store.querySpans({ rolloutId: tooMany.rolloutId })).total).toBe(0);
  expect((await store.querySpans({ rolloutId: otherSpan().rolloutId })).total).toBe(1);
});

function otlp({ rolloutId, attemptId, name, events }: SpanInput): object {
  return {
    traceId: '0123456789abcdef0123456789abcdef',
    spanId: '0123456789abcdef',
    name,
    startTimeUnixNano: '1000000000',
    endTimeUnixNano: '2000000000',
    attributes: Object.entries({
      'agentlightning.rollout_id': rolloutId,
      'agentlightning.attempt_id': attemptId,
    }).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    events: events.map((event) => ({ name: event.name, timeUnixNano: '1000000000' })),
  };
}

test('a quota must be a positive integer', async () => {
  await expect(openStore(':memory:', { quotas: { maxSpanBytes: 0 } })).rejects.toMatchObject({
    code: 'VALIDATION',
    issues: [{ path: 'quotas.maxSpanBytes' }],
  });
});
