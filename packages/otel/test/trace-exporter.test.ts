import type { Span } from '@agentlightning/core';
import { modelCallToSpan } from '@agentlightning/core/spans';
import { aModelCall, aRewardSpan, aSpan, ManualClock } from '@agentlightning/core/testing';
import { createStoreServer, openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { type OtlpProtocol, TraceExporter, type TraceTarget, traceTarget } from '../src/index.ts';
import { OtlpReceiver } from '../src/testing/index.ts';

const ids = (index: number): Pick<Span, 'traceId' | 'spanId'> => ({
  traceId: 'a'.repeat(32),
  spanId: String(index + 1).padStart(16, '0'),
});

function targetAt(url: string, protocol: OtlpProtocol = 'http/json'): TraceTarget {
  return traceTarget('otlp', {}, { endpoint: url, protocol });
}

/** The attempt of a rollout: a framework's step of a model call, the gateway's record of it, a reward. */
function attemptSpans(place: Pick<Span, 'rolloutId' | 'attemptId'>): readonly Span[] {
  const step = aSpan({
    ...place,
    ...ids(0),
    sequenceId: 1,
    name: 'ChatOpenAI',
    attributes: { 'agentlightning.step.kind': 'model-call', 'gen_ai.response.id': 'chatcmpl-1', node: 'planner' },
    startTimeMs: 1_700_000_000_123.5,
    endTimeMs: 1_700_000_001_000,
  });
  const request = { messages: [{ role: 'user', content: 'How many bolts?' }] };
  const response = { choices: [{ message: { role: 'assistant', content: 'Seven.' } }] };
  const call = {
    ...aModelCall(),
    ...place,
    request,
    response,
    spanId: ids(1).spanId,
    responseId: 'chatcmpl-1',
    sequenceId: 2,
  };
  const capture = { ...modelCallToSpan(call, { traceId: step.traceId }), sequenceId: 2 };
  const reward = aRewardSpan(0.75, { ...place, ...ids(2), sequenceId: 3, parentId: step.spanId });
  return [step, capture, reward];
}

test.each(['http/protobuf', 'http/json'] as const)('spans reach another store by %s', async (protocol) => {
  const store = await openStore(':memory:');
  const server = await createStoreServer({ store, port: 0 });
  try {
    const { rolloutId, attempt } = await store.startRollout({ input: 1 });
    const exporter = new TraceExporter({ target: targetAt(server.url, protocol), tokens: true });
    await exporter.export(attemptSpans({ rolloutId, attemptId: attempt.attemptId }));
    const { items } = await store.querySpans({ rolloutId });
    expect(items.map(({ name, spanId }) => [name, spanId])).toEqual([
      ['ChatOpenAI', ids(0).spanId],
      ['agentlightning.annotation', ids(2).spanId],
    ]);
    const [step, reward] = items;
    expect(step).toMatchObject({ startTimeMs: 1_700_000_000_123.5, parentId: null });
    expect(step?.attributes).toMatchObject({
      node: 'planner',
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      prompt_token_ids: aModelCall().promptTokenIds,
    });
    expect(reward?.parentId).toBe(ids(0).spanId);
    expect(reward?.events).toMatchObject([
      { name: 'gen_ai.evaluation.result', attributes: { 'gen_ai.evaluation.score.value': 0.75 } },
    ]);
    expect(exporter.counts).toEqual({ spans: 2, requests: 1, scores: 0, rejected: 0, skipped: 0, reasons: [] });
  } finally {
    await server.close();
    await store.close();
  }
});

test('token ids and bodies stay, and messages where they are excluded', async () => {
  await using receiver = await OtlpReceiver.start();
  const place = { rolloutId: 'ro-1', attemptId: 'at-1' };
  await new TraceExporter({ target: targetAt(receiver.url) }).export(attemptSpans(place));
  await new TraceExporter({ target: targetAt(receiver.url), content: false }).export(attemptSpans(place));
  const [whole = '', bare = ''] = receiver.requests.map(({ body }) => body.toString());
  expect(whole).toContain('gen_ai.output.messages');
  expect(whole.match(/"resource":/g)).toHaveLength(1);
  expect(whole).not.toContain('prompt_token_ids');
  expect(whole).not.toContain('agentlightning.request_body');
  expect(bare).toContain('gen_ai.usage.input_tokens');
  expect(bare).not.toContain('bolts');
});

test('a busy receiver is retried after the time that it names', async () => {
  await using receiver = await OtlpReceiver.start(
    { status: 503, headers: { 'retry-after': '30' } },
    { status: 429, headers: { 'retry-after': '7' } },
  );
  const clock = new ManualClock();
  const exporter = new TraceExporter({ target: targetAt(receiver.url), clock });
  const slept: number[] = [];
  const sleep = clock.sleep.bind(clock);
  clock.sleep = async (ms, signal) => {
    slept.push(ms);
    const done = sleep(ms, signal);
    clock.advance(ms);
    await done;
  };
  await exporter.export([aSpan(ids(0))]);
  expect(slept).toEqual([30_000, 7000]);
  expect(exporter.counts).toMatchObject({ spans: 1, requests: 3 });
});

test('a batch that is too large is divided down to the span that is', async () => {
  await using receiver = await OtlpReceiver.start({ status: 413 }, { status: 200 }, { status: 413 }, { status: 413 });
  const exporter = new TraceExporter({ target: targetAt(receiver.url) });
  await exporter.export([0, 1, 2, 3].map((index) => aSpan(ids(index))));
  expect(exporter.counts).toMatchObject({ spans: 3, rejected: 1, requests: 5 });
});

test('rejected spans are counted with the reason of the receiver', async () => {
  const body = JSON.stringify({ partialSuccess: { rejectedSpans: '1', errorMessage: 'span too old' } });
  await using receiver = await OtlpReceiver.start({ status: 200, body });
  const exporter = new TraceExporter({ target: targetAt(receiver.url) });
  await exporter.export([aSpan(ids(0)), aSpan(ids(1)), aSpan({ ...ids(2), spanId: 'not hex' })]);
  expect(exporter.counts).toMatchObject({ spans: 1, rejected: 1, skipped: 1, reasons: ['span too old'] });
});

test('a wrong key and a missing receiver end the export with what to do', async () => {
  await using receiver = await OtlpReceiver.start({ status: 401, body: 'invalid key' });
  const url = receiver.url;
  const export1 = new TraceExporter({ target: targetAt(url) }).export([aSpan(ids(0))]);
  await expect(export1).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringContaining('invalid key'),
  });
  await receiver[Symbol.asyncDispose]();
  const export2 = new TraceExporter({ target: targetAt(url), maxTries: 1 }).export([aSpan(ids(0))]);
  await expect(export2).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('ECONNREFUSED'),
  });
});

test('tools have the addresses and headers of their documentation', () => {
  const environment = {
    LANGFUSE_BASE_URL: 'https://langfuse.example/',
    LANGFUSE_PUBLIC_KEY: 'pk',
    LANGFUSE_SECRET_KEY: 'sk',
    PHOENIX_COLLECTOR_ENDPOINT: 'http://phoenix:6006/v1/traces',
    LANGSMITH_API_KEY: 'ls',
    LANGSMITH_PROJECT: 'p1',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b,X-Team=one',
  };
  expect(traceTarget('langfuse', environment)).toMatchObject({
    url: 'https://langfuse.example/api/public/otel/v1/traces',
    headers: { authorization: 'Basic cGs6c2s=' },
  });
  expect(traceTarget('phoenix', environment).url).toBe('http://phoenix:6006/v1/traces');
  expect(traceTarget('langsmith', environment)).toMatchObject({
    url: 'https://api.smith.langchain.com/otel/v1/traces',
    headers: { 'x-api-key': 'ls', 'langsmith-project': 'p1' },
  });
  expect(traceTarget('otlp', environment)).toEqual({
    url: 'http://collector:4318/v1/traces',
    headers: { 'api-key': 'a b', 'x-team': 'one' },
    protocol: 'http/protobuf',
  });
  expect(() => traceTarget('langfuse', {})).toThrow(/LANGFUSE_PUBLIC_KEY is not set/);
  expect(() => traceTarget('otlp', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(/protocol grpc/);
  expect(() => traceTarget('otlp', {}, { endpoint: 'collector:4318' })).toThrow(/invalid address/);
});

interface ExportedJson {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly attributes: readonly { readonly key: string; readonly value: object }[];
      }[];
    }[];
  }[];
}

test('the root span has name, input, output and rewards, and model calls the model that responded', async () => {
  await using receiver = await OtlpReceiver.start();
  const place = { rolloutId: 'ro-1', attemptId: 'at-1' };
  const root = aSpan({
    ...place,
    ...ids(7),
    sequenceId: 9,
    name: 'agentlightning.rollout',
    startTimeMs: 1,
    endTimeMs: 2,
  });
  const [step, capture, reward] = attemptSpans(place);
  if (step === undefined || capture === undefined || reward === undefined) expect.unreachable();
  const asked = {
    ...step,
    parentId: root.spanId,
    attributes: { ...step.attributes, 'gen_ai.request.model': 'gpt-4.1' },
  };
  const answered = { ...capture, attributes: { ...capture.attributes, 'gen_ai.response.model': 'tiny-1b' } };
  await new TraceExporter({ target: targetAt(receiver.url) }).export([root, asked, answered, reward]);
  const text = receiver.requests[0]?.body.toString() ?? '';
  const attributesOf = (name: string): Record<string, unknown> => {
    const { resourceSpans } = JSON.parse(text) as ExportedJson;
    const all = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
    const found = all.find((span) => span.name === name)?.attributes ?? [];
    return Object.fromEntries(found.map(({ key, value }) => [key, Object.values(value)[0]]));
  };
  expect(attributesOf('How many bolts?')).toMatchObject({
    'input.value': 'How many bolts?',
    'output.value': 'Seven.',
    'mlflow.spanOutputs': '"Seven."',
    'langfuse.trace.name': 'How many bolts?',
    reward: 0.75,
  });
  expect(attributesOf('ChatOpenAI')).toMatchObject({
    'gen_ai.request.model': 'tiny-1b',
    'gen_ai.response.model': 'tiny-1b',
    'agentlightning.requested_model': 'gpt-4.1',
  });
});

test('rewards are scores of the trace in Langfuse, and what it rejects is counted', async () => {
  const errors = { successes: [], errors: [{ id: 'x', status: 400, message: 'value too large' }] };
  const rejection = { status: 207, body: JSON.stringify(errors) };
  await using receiver = await OtlpReceiver.start({ status: 200 }, { status: 207 }, { status: 200 }, rejection);
  const keys = { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk', LANGFUSE_BASE_URL: receiver.url };
  const exporter = new TraceExporter({ target: traceTarget('langfuse', keys) });
  const spans = attemptSpans({ rolloutId: 'ro-1', attemptId: 'at-1' });
  await exporter.export(spans);
  const [, request] = receiver.requests;
  expect(request).toMatchObject({
    path: '/api/public/ingestion',
    headers: { authorization: 'Basic cGs6c2s=', 'content-type': 'application/json' },
  });
  const { traceId } = ids(1);
  expect(JSON.parse(String(request?.body))).toEqual({
    batch: [
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        type: 'score-create',
        body: { id: `${traceId}-reward`, traceId, name: 'reward', value: 0.75, dataType: 'NUMERIC' },
      },
    ],
  });
  expect(exporter.counts).toMatchObject({ requests: 2, scores: 1, rejected: 0 });
  await exporter.export(spans);
  expect(exporter.counts).toMatchObject({ requests: 4, scores: 1, rejected: 1, reasons: ['value too large'] });
});

test('rewards are annotations of the root span in Phoenix, and refused ones an error', async () => {
  await using receiver = await OtlpReceiver.start({ status: 200 }, { status: 200 }, { status: 200 }, { status: 422 });
  const keys = { PHOENIX_COLLECTOR_ENDPOINT: receiver.url, PHOENIX_API_KEY: 'pk' };
  const exporter = new TraceExporter({ target: traceTarget('phoenix', keys) });
  const place = { rolloutId: 'ro-1', attemptId: 'at-1' };
  const root = aSpan({ ...place, ...ids(7), sequenceId: 9, name: 'agentlightning.rollout' });
  await exporter.export([root, ...attemptSpans(place)]);
  const [, request] = receiver.requests;
  expect(request).toMatchObject({ path: '/v1/span_annotations', headers: { authorization: 'Bearer pk' } });
  const annotation = { name: 'reward', annotator_kind: 'CODE', identifier: 'agentlightning' };
  expect(JSON.parse(String(request?.body))).toEqual({
    data: [{ ...annotation, span_id: root.spanId, result: { score: 0.75 } }],
  });
  await expect(exporter.export(attemptSpans(place))).rejects.toThrow(/v1\/span_annotations responded with status 422/);
});

test('rewards are assessments of the trace in MLflow, one in a request', async () => {
  await using receiver = await OtlpReceiver.start();
  const environment = {
    MLFLOW_TRACKING_URI: receiver.url,
    MLFLOW_EXPERIMENT_ID: '7',
    MLFLOW_TRACKING_USERNAME: 'ann',
    MLFLOW_TRACKING_PASSWORD: 'pw',
  };
  const exporter = new TraceExporter({ target: traceTarget('mlflow', environment) });
  const place = { rolloutId: 'ro-1', attemptId: 'at-1' };
  const reward = { ...place, ...ids(9), sequenceId: 9, startTimeMs: 9, endTimeMs: 9 };
  const parts = aRewardSpan({ primary: 0.5, 'style.short': 0.25 }, reward);
  await exporter.export([...attemptSpans(place), { ...parts, ...ids(9), traceId: ids(1).traceId }]);
  const [traces, ...assessments] = receiver.requests;
  const headers = { 'x-mlflow-experiment-id': '7', authorization: 'Basic YW5uOnB3' };
  expect(traces).toMatchObject({ path: '/v1/traces', headers });
  const path = `/api/3.0/mlflow/traces/tr-${ids(1).traceId}/assessments`;
  for (const request of assessments) expect(request).toMatchObject({ path, headers });
  // The fields of MLflow's `assessments.proto`, which rejects others, and names with a dot.
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const source = { source_type: 'CODE', source_id: 'agentlightning' };
  const common = { trace_id: `tr-${ids(1).traceId}`, source, create_time: time, last_update_time: time };
  expect(assessments.map(({ body }) => JSON.parse(String(body)))).toEqual([
    { assessment: { ...common, assessment_name: 'reward', feedback: { value: 0.5 } } },
    { assessment: { ...common, assessment_name: 'reward_style_short', feedback: { value: 0.25 } } },
  ]);
  expect(exporter.counts).toMatchObject({ scores: 2, rejected: 0 });
  expect(traceTarget('mlflow', { MLFLOW_TRACKING_TOKEN: 't' })).toMatchObject({
    url: 'http://127.0.0.1:5000/v1/traces',
    headers: { 'x-mlflow-experiment-id': '0', authorization: 'Bearer t' },
  });
});
