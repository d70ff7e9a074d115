import { uncapturedModelCall } from '@agentlightning/core/internal';
import { joinModelCalls, modelCallFromSpan, readProductionMetadata } from '@agentlightning/core/spans';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { createStoreServer, openStore, type SqlStore, type StoreServer } from '@agentlightning/store';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenTelemetry } from '@ai-sdk/otel';
import { OpenAIInstrumentation as OpenInference } from '@arizeai/openinference-instrumentation-openai';
import { context, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { OpenAIInstrumentation as OpenLLMetry } from '@traceloop/instrumentation-openai';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';

let store: SqlStore;
let server: StoreServer;
let model: ScriptedModel;
let sdk: NodeSDK | null = null;

beforeEach(async () => {
  store = await openStore(':memory:');
  server = await createStoreServer({ store, port: 0, apiKey: 'a key of the test that is long enough' });
  model = await ScriptedModel.start(() => respondWith('Within 30 days.'));
});
afterEach(async () => {
  await sdk?.shutdown().catch(() => undefined);
  sdk = null;
  trace.disable();
  context.disable();
  await model.close();
  await server.close();
  await store.close();
});

/** The OpenTelemetry SDK as an application starts it, with the instrumentation of another project. */
function startTracing(deployment: string, apiKey = 'a key of the test that is long enough'): OTLPTraceExporter {
  const exporter = new OTLPTraceExporter({
    url: `${server.url}/v1/traces`,
    headers: { authorization: `Bearer ${apiKey}` },
  });
  sdk = new NodeSDK({
    resource: resourceFromAttributes({ 'agentlightning.deployment': deployment }),
    traceExporter: exporter,
    instrumentations: [],
    autoDetectResources: false,
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return exporter;
}

/** What a deployment has of the one call that was traced. */
async function recordedIn(deployment: string) {
  await sdk?.shutdown();
  sdk = null;
  const { items } = await store.queryRollouts({ runId: deployment });
  const [rollout] = items;
  if (rollout === undefined || items.length > 1) throw new Error(`${items.length} traces arrived`);
  const { items: spans } = await store.querySpans({ rolloutId: rollout.rolloutId });
  const calls = joinModelCalls(spans).flatMap(({ step }) => (step === null ? [] : [uncapturedModelCall(step)]));
  return { rollout, call: calls.length === 1 && calls[0] != null ? modelCallFromSpan(calls[0]) : null };
}

const exchange = {
  request: { messages: [{ role: 'user', content: 'Can I return it?' }] },
  response: { choices: [{ message: { role: 'assistant', content: 'Within 30 days.' } }] },
};

async function ask(): Promise<string | null | undefined> {
  const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'none' });
  const messages = [{ role: 'user' as const, content: 'Can I return it?' }];
  const { choices } = await client.chat.completions.create({ model: 'tiny', messages });
  return choices[0]?.message.content;
}

test('the telemetry of the AI SDK is a trace with its user, conversation and model call', async () => {
  startTracing('support');
  await generateText({
    model: createOpenAICompatible({ name: 'none', baseURL: model.baseUrl })('tiny'),
    prompt: 'Can I return it?',
    runtimeContext: { userId: 'u-7', threadId: 'c-9' },
    telemetry: {
      functionId: 'answer',
      includeRuntimeContext: { userId: true, threadId: true },
      integrations: new OpenTelemetry({ runtimeContext: true }),
    },
  });
  const { rollout, call } = await recordedIn('support');
  expect(rollout).toMatchObject({ mode: 'production', status: 'succeeded', input: 'Can I return it?' });
  expect(readProductionMetadata(rollout.metadata)).toMatchObject({ user: 'u-7', conversation: 'c-9' });
  expect(call).toMatchObject(exchange);
});

test.each([
  ['OpenInference', () => new OpenInference()],
  ['OpenLLMetry', () => new OpenLLMetry()],
] as const)('the spans of %s are a trace with its input and model call', async (_name, create) => {
  startTracing('support');
  const instrumentation = create();
  instrumentation.setTracerProvider(trace.getTracerProvider());
  // The same class, of which pnpm installs a copy for each version of a peer.
  instrumentation.manuallyInstrument(OpenAI as unknown as Parameters<OpenInference['manuallyInstrument']>[0]);
  expect(await ask()).toBe('Within 30 days.');
  instrumentation.disable();
  const { rollout, call } = await recordedIn('support');
  expect(rollout).toMatchObject({ mode: 'production', status: 'succeeded', input: 'Can I return it?' });
  expect(call).toMatchObject(exchange);
});

test('the exporter sees an error for a refused key, and for a batch of which every span is refused', async () => {
  await store.createRun({ runId: 'training', name: 'training', config: {} });
  const resultsOf = async (deployment: string, apiKey?: string): Promise<readonly string[]> => {
    const exporter = startTracing(deployment, apiKey);
    const results: string[] = [];
    const send = exporter.export.bind(exporter);
    exporter.export = (spans, done) =>
      send(spans, (result) => {
        results.push(`${result.code} ${result.error?.message ?? ''}`);
        done(result);
      });
    trace.getTracer('test').startSpan('a request').end();
    await sdk?.shutdown().catch(() => undefined);
    sdk = null;
    trace.disable();
    context.disable();
    return results;
  };
  expect(await resultsOf('support')).toEqual(['0 ']);
  expect(await resultsOf('support', 'another key')).toEqual([expect.stringMatching(/^1 .*Unauthorized/)]);
  expect(await resultsOf('training')).toEqual([expect.stringMatching(/^1 .*Bad Request/)]);
});
