import { gzipSync } from 'node:zlib';
import { AgentLightningError, type Span } from '@agentlightning/core';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
  StatusSchema,
} from '../src/gen/agentlightning/otlp/v1/traces_pb.ts';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '../src/index.ts';

let store: SqlStore;
let server: StoreServer;
let url: string;

beforeAll(async () => {
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0, maxBodyBytes: 100_000 });
  url = `${server.url}/v1/traces`;
});

afterAll(async () => {
  await server.close();
  await store.close();
});

async function spansOf({ rolloutId }: AttemptedRollout): Promise<readonly Span[]> {
  return (await store.querySpans({ rolloutId })).items;
}

/** A request in OTLP/JSON, with one span unless more is said. */
function requestOf(rollout: AttemptedRollout, span: object = {}): object {
  const resource = {
    attributes: [
      { key: 'agentlightning.rollout_id', value: { stringValue: rollout.rolloutId } },
      { key: 'agentlightning.attempt_id', value: { stringValue: rollout.attempt.attemptId } },
    ],
  };
  const plain = { traceId: 'a'.repeat(32), spanId: 'B'.repeat(16), name: 'step' };
  return { resourceSpans: [{ resource, scopeSpans: [{ spans: [{ ...plain, ...span }] }] }] };
}

function send(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: text });
}

function sendBytes(body: Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
  const bytes = Uint8Array.from(body);
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf', ...headers },
    body: bytes,
  });
}

const exporters: readonly [name: string, make: (options: object) => SpanExporter][] = [
  ['protobuf', (options) => new ProtobufExporter({ url, ...options })],
  ['JSON', (options) => new JsonExporter({ url, ...options })],
];

describe.each(exporters)('the standard exporter of OpenTelemetry for %s', (_, make) => {
  test.each(['none', 'gzip'])('records its spans, with compression %s', async (compression) => {
    const rollout = await store.startRollout({ input: 1 });
    const provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        'service.name': 'agent',
        'agentlightning.rollout_id': rollout.rolloutId,
        'agentlightning.attempt_id': rollout.attempt.attemptId,
      }),
      spanProcessors: [new BatchSpanProcessor(make({ compression }))],
    });
    const tracer = provider.getTracer('test');
    const root = tracer.startSpan('root', { startTime: [1_700_000_000, 123_456_789] });
    const inside = trace.setSpan(ROOT_CONTEXT, root);
    const child = tracer.startSpan(
      'child',
      { links: [{ context: root.spanContext(), attributes: { why: 'x' } }] },
      inside,
    );
    child.setAttributes({
      text: 'a',
      isOn: true,
      count: 3,
      ratio: 0.5,
      ids: [1, 2],
      logprobs: [-0.5, 0, -1],
      tags: ['a'],
    });
    child.addEvent('moment', { n: 1 }, [1_700_000_001, 0]);
    child.setStatus({ code: SpanStatusCode.ERROR, message: 'broke' });
    child.end();
    root.setStatus({ code: SpanStatusCode.OK });
    root.end([1_700_000_002, 0]);
    await provider.shutdown();

    const spans = await spansOf(rollout);
    expect(spans.map(({ name, sequenceId }) => [name, sequenceId])).toEqual([
      ['child', 1],
      ['root', 2],
    ]);
    const { traceId, spanId } = root.spanContext();
    expect(spans[0]).toMatchObject({
      traceId,
      spanId: child.spanContext().spanId,
      parentId: spanId,
      status: { code: 'ERROR', message: 'broke' },
      attributes: { text: 'a', isOn: true, count: 3, ratio: 0.5, ids: [1, 2], logprobs: [-0.5, 0, -1], tags: ['a'] },
      events: [{ name: 'moment', timeMs: 1_700_000_001_000, attributes: { n: 1 } }],
      links: [{ traceId, spanId, attributes: { why: 'x' } }],
      resource: { attributes: { 'service.name': 'agent' } },
    });
    expect(spans[1]).toMatchObject({
      parentId: null,
      status: { code: 'OK', message: null },
      startTimeMs: 1_700_000_000_123.457,
      endTimeMs: 1_700_000_002_000,
    });
    expect((await store.getRollout(rollout.rolloutId)).status).toBe('running');
  });
});

describe('OTLP/JSON', () => {
  test.each(['Infinity', 'NaN', 1e300])('a reward of %s is refused', async (doubleValue) => {
    const rollout = await store.startRollout({ input: 1 });
    const attributes = [
      { key: 'agentlightning.reward.0.name', value: { stringValue: 'primary' } },
      { key: 'agentlightning.reward.0.value', value: { doubleValue } },
    ];
    const response = await send(requestOf(rollout, { name: 'agentlightning.annotation', attributes }));
    expect(await response.json()).toMatchObject({
      code: 3,
      message: expect.stringContaining('Reward "primary" is out of range'),
    });
    expect(await spansOf(rollout)).toEqual([]);
  });

  test('accepts integers as numbers or text, ids in either case, and fields of a later version', async () => {
    const rollout = await store.startRollout({ input: 1 });
    const span = {
      startTimeUnixNano: '1700000000000000000',
      endTimeUnixNano: 1700000001000000000,
      fieldOfTomorrow: 1,
      attributes: [
        { key: 'number', value: { intValue: 7 } },
        { key: 'text', value: { intValue: '8' } },
        { key: 'mixed', value: { arrayValue: { values: [{ doubleValue: -0.5 }, { intValue: 0 }] } } },
        { key: 'large', value: { intValue: '9007199254740993' } },
        { key: 'notANumber', value: { doubleValue: 'NaN' } },
        { key: 'object', value: { kvlistValue: { values: [{ key: 'a', value: { boolValue: true } }] } } },
        { key: 'bytes', value: { bytesValue: 'AQI=' } },
        { key: 'nothing', value: {} },
      ],
    };
    const response = await send(requestOf(rollout, span));
    expect([response.status, response.headers.get('content-type'), await response.json()]).toEqual([
      200,
      'application/json',
      {},
    ]);
    expect(await spansOf(rollout)).toMatchObject([
      {
        traceId: 'a'.repeat(32),
        spanId: 'b'.repeat(16),
        startTimeMs: 1_700_000_000_000,
        endTimeMs: 1_700_000_001_000,
        attributes: {
          number: 7,
          text: 8,
          mixed: [-0.5, 0],
          large: '9007199254740993',
          notANumber: 'NaN',
          object: '{"a":true}',
          bytes: '0102',
        },
      },
    ]);
  });

  test('sent twice has one effect', async () => {
    const rollout = await store.startRollout({ input: 1 });
    await send(requestOf(rollout));
    expect(await (await send(requestOf(rollout))).json()).toEqual({});
    expect(await spansOf(rollout)).toHaveLength(1);
  });

  test('is assigned by attributes of the span before those of the resource, with a sequence id of either', async () => {
    const [first, second] = [await store.startRollout({ input: 1 }), await store.startRollout({ input: 2 })];
    const attributes = [
      { key: 'agentlightning.rollout_id', value: { stringValue: second.rolloutId } },
      { key: 'agentlightning.attempt_id', value: { stringValue: second.attempt.attemptId } },
      { key: 'agentlightning.span_sequence_id', value: { stringValue: '41' } },
    ];
    await send(requestOf(first, { attributes }));
    expect(await spansOf(first)).toEqual([]);
    expect(await spansOf(second)).toMatchObject([{ sequenceId: 41 }]);
  });
});

describe('a partial success', () => {
  test('reports the number and reasons of rejected spans and records the others', async () => {
    const rollout = await store.startRollout({ input: 1 });
    const lost = { ...rollout, rolloutId: 'ro-unknown' };
    const { resourceSpans: good } = requestOf(rollout) as { resourceSpans: object[] };
    const { resourceSpans: unknown } = requestOf(lost) as { resourceSpans: object[] };
    const nowhere = { scopeSpans: [{ spans: [{ spanId: '1'.repeat(16), name: 'stray' }] }] };
    const response = await send({ resourceSpans: [...unknown, ...good, nowhere] });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        partialSuccess: {
          rejectedSpans: '2',
          errorMessage:
            'Span stray has no attribute agentlightning.rollout_id, and neither has its resource; Rollout ro-unknown not found',
        },
      },
    ]);
    expect(await spansOf(rollout)).toHaveLength(1);
  });
});

describe('production', () => {
  /** A request in OTLP/JSON of a producer outside of runs. */
  const trace = (resource: Record<string, string>, ...spans: object[]): object => ({
    resourceSpans: [
      {
        resource: {
          attributes: Object.entries(resource).map(([key, stringValue]) => ({ key, value: { stringValue } })),
        },
        scopeSpans: [{ spans: spans.map((span) => ({ traceId: 'c'.repeat(32), name: 'step', ...span })) }],
      },
    ],
  });
  const root = {
    spanId: '1'.repeat(16),
    attributes: [{ key: 'input.value', value: { stringValue: 'Where is my parcel?' } }],
    status: { code: 2 },
  };
  const child = { spanId: '2'.repeat(16), parentSpanId: '1'.repeat(16) };

  test('spans of a named deployment create its traces, in any order and once', async () => {
    const headers = { 'x-agl-deployment': 'parcels' };
    for (const spans of [[child], [root], [child, root]]) {
      const response = await send(trace({ 'service.name': 'shop' }, ...spans), headers);
      expect([response.status, await response.json()]).toEqual([200, {}]);
    }
    const rollout = await store.getRollout('c'.repeat(32));
    const expected = { runId: 'parcels', mode: 'production', status: 'failed', input: 'Where is my parcel?' };
    expect(rollout).toMatchObject(expected);
    expect((await store.querySpans({ rolloutId: rollout.rolloutId })).items).toHaveLength(2);
  });

  test('the resource names the deployment; rollouts of runs in the same process stay theirs', async () => {
    const { rolloutId, attempt } = await store.startRollout({ input: 1 });
    const given = { 'agentlightning.rollout_id': rolloutId, 'agentlightning.attempt_id': attempt.attemptId };
    const attributes = Object.entries(given).map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const spans = [
      { ...root, traceId: 'd'.repeat(32) },
      { ...child, attributes },
    ];
    const response = await send(trace({ 'agentlightning.deployment': 'shop' }, ...spans));
    expect([response.status, await response.json()]).toEqual([200, {}]);
    expect(await store.getRollout('d'.repeat(32))).toMatchObject({ runId: 'shop', mode: 'production' });
    expect((await store.querySpans({ rolloutId })).items).toHaveLength(1);
  });

  test('a batch without a deployment is refused with the way to name one', async () => {
    const response = await send(trace({}, root));
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('x-agl-deployment')]);
  });

  test('a batch for a run that is not a deployment is refused', async () => {
    await store.createRun({ runId: 'run-7', name: 'training', config: {} });
    const response = await send(trace({ 'agentlightning.deployment': 'run-7' }, root));
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('not a deployment')]);
  });

  test('a key of the role ingest records traces of production only', async () => {
    const locked = await openStore(':memory:');
    const { key } = await locked.createAccessKey({ name: 'shop', role: 'ingest' });
    const guarded = await createStoreServer({ store: locked, port: 0 });
    const { rolloutId, attempt } = await locked.startRollout({ input: 1 });
    const post = async (resource: Record<string, string>): Promise<number> => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
      const body = JSON.stringify(trace(resource, root));
      return (await fetch(`${guarded.url}/v1/traces`, { method: 'POST', headers, body })).status;
    };
    const ids = { 'agentlightning.rollout_id': rolloutId, 'agentlightning.attempt_id': attempt.attemptId };
    expect(await post(ids)).toBe(400);
    expect(await post({ ...ids, 'agentlightning.deployment': 'shop' })).toBe(400);
    expect((await locked.querySpans({ rolloutId })).total).toBe(0);
    expect(await post({ 'agentlightning.deployment': 'shop' })).toBe(200);
    await guarded.close();
    await locked.close();
  });
});

describe('protobuf', () => {
  test('an empty request is accepted', async () => {
    const response = await sendBytes(new Uint8Array());
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-protobuf']);
    expect(fromBinary(ExportTraceServiceResponseSchema, await response.bytes()).partialSuccess).toBeUndefined();
  });

  test.each([
    ['gzip', true],
    ['gzip;q=0, identity', false],
    ['*', true],
    ['br', false],
  ])('a response to a client that accepts %s is compressed: %s', async (accepted, isCompressed) => {
    const body = gzipSync(toBinary(ExportTraceServiceRequestSchema, create(ExportTraceServiceRequestSchema)));
    const response = await sendBytes(body, { 'content-encoding': 'gzip', 'accept-encoding': accepted });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-encoding')).toBe(isCompressed ? 'gzip' : null);
  });
});

describe('a bad request', () => {
  const cases = [
    {
      what: 'no protobuf',
      status: 400,
      reason: 'is not an OTLP request',
      respond: () => sendBytes(Buffer.from('not a message')),
    },
    {
      what: 'no gzip',
      status: 400,
      reason: 'is not gzip',
      respond: () => sendBytes(Buffer.from('plain'), { 'content-encoding': 'gzip' }),
    },
    {
      what: 'another compression',
      status: 400,
      reason: 'got br',
      respond: () => sendBytes(Buffer.from('x'), { 'content-encoding': 'br' }),
    },
    {
      what: 'another type',
      status: 400,
      reason: 'got text/plain',
      respond: () => send('x', { 'content-type': 'text/plain' }),
    },
    {
      what: 'a bomb',
      status: 413,
      reason: 'decompressed request body exceeds 100000 bytes',
      respond: () => sendBytes(gzipSync(Buffer.alloc(200_000)), { 'content-encoding': 'gzip' }),
    },
  ];
  test.each(cases)('with $what gets status $status and a status message', async ({ status, reason, respond }) => {
    const response = await respond();
    expect(response.status).toBe(status);
    expect(fromBinary(StatusSchema, await response.bytes()).message).toContain(reason);
  });

  test.each([
    '{"resourceSpans": ',
    '[]',
    '{"resourceSpans": 1}',
    '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}',
  ])('in JSON gets a response in JSON: %s', async (text) => {
    const response = await send(text);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 3, message: expect.stringMatching(/Correct the field/) });
  });

  test('of another signal is accepted and ignored, with a warning', async () => {
    const headers = { 'content-type': 'application/json' };
    for (const path of ['metrics', 'logs', 'development/profiles']) {
      const response = await fetch(`${server.url}/v1/${path}`, { method: 'POST', headers, body: '{}' });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        partialSuccess: { errorMessage: expect.stringContaining('only traces') },
      });
    }
  });
});

test('a full disk is reported as transient, so that exporters retry', async () => {
  const full = await openStore(':memory:');
  const behind = await createStoreServer({ store: full, port: 0 });
  const rollout = await full.startRollout({ input: 1 });
  full.appendSpans = () => Promise.reject(new AgentLightningError({ code: 'STORE_FULL', message: 'no room' }));
  const response = await fetch(`${behind.url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(requestOf(rollout)),
  });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ code: 14, message: expect.stringContaining('no room') });
  await behind.close();
  await full.close();
});

test('an internal error is a status message without details', async () => {
  const faults: unknown[] = [];
  const broken = await openStore(':memory:');
  const fragile = await createStoreServer({ store: broken, port: 0, onFault: (error) => faults.push(error) });
  const rollout = await broken.startRollout({ input: 1 });
  broken.appendSpans = () => Promise.reject(new RangeError('the password is 1234'));
  const response = await fetch(`${fragile.url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
    body: JSON.stringify(requestOf(rollout)),
  });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ code: 13, message: expect.not.stringContaining('1234') });
  expect(faults).toHaveLength(1);
  await fragile.close();
  await broken.close();
});
