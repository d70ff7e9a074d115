import { withRollout } from '@agentlightning/core';
import { aRolloutContext, MemorySpanSink } from '@agentlightning/core/testing';
import { ROOT_CONTEXT, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { BasicTracerProvider as Provider1 } from 'otel-sdk-1';
import { BasicTracerProvider as Provider2 } from 'otel-sdk-2';
import { describe, expect, test } from 'vitest';
import { RolloutSpanProcessor } from '../src/index.ts';

const majors: readonly [major: number, makeTracer: (processor: RolloutSpanProcessor) => Tracer][] = [
  [1, (processor) => new Provider1({ spanProcessors: [processor] }).getTracer('agent')],
  [2, (processor) => new Provider2({ spanProcessors: [processor] }).getTracer('agent')],
  [3, (processor) => new TracerProvider({ spanProcessors: [processor] }).getTracer('agent')],
];

describe.each(majors)('with the OpenTelemetry SDK %i', (_, makeTracer) => {
  test('spans are recorded into the rollout that they start in, under its root', () => {
    const tracer = makeTracer(new RolloutSpanProcessor());
    const request = tracer.startSpan('POST /agent');
    const sink = new MemorySpanSink();
    const rollout = aRolloutContext({ sink, parentSpanId: 'f'.repeat(16) });
    withRollout(rollout, () => {
      const agent = tracer.startSpan('agent', {}, trace.setSpan(ROOT_CONTEXT, request));
      const call = tracer.startSpan(
        'chat',
        {
          attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.response.id': 'r-1' },
          startTime: [1_700_000_000, 5e8],
        },
        trace.setSpan(ROOT_CONTEXT, agent),
      );
      call.addEvent('retry', { tries: 2 });
      call.setStatus({ code: SpanStatusCode.ERROR, message: 'broke' });
      call.end([1_700_000_002, 0]);
      agent.end();
    });
    request.end();
    expect(sink.spans.map(({ name }) => name)).toEqual(['chat', 'agent']);
    const [call, agent] = sink.spans;
    expect(agent).toMatchObject({ parentId: 'f'.repeat(16), traceId: rollout.traceId, rolloutId: rollout.rolloutId });
    expect(call).toMatchObject({
      parentId: agent?.spanId,
      startTimeMs: 1_700_000_000_500,
      endTimeMs: 1_700_000_002_000,
      status: { code: 'ERROR', message: 'broke' },
      events: [{ name: 'retry', attributes: { tries: 2 } }],
      attributes: { 'gen_ai.response.id': 'r-1', 'agentlightning.step.kind': 'model-call' },
    });
  });

  test('concurrent rollouts are separate, and attributes of training data are not accepted', async () => {
    const tracer = makeTracer(new RolloutSpanProcessor({ shouldRecord: ({ name }) => name !== 'GET' }));
    const sinks = [new MemorySpanSink(), new MemorySpanSink()];
    await Promise.all(
      sinks.map((sink, index) =>
        withRollout(aRolloutContext({ sink, rolloutId: `ro-${index}` }), async () => {
          const span = tracer.startSpan(`step ${index}`, { attributes: { prompt_token_ids: [1], ok: true } });
          await Promise.resolve();
          tracer.startSpan('GET').end();
          span.end();
        }),
      ),
    );
    expect(sinks.map((sink) => sink.spans.map(({ name, rolloutId }) => [name, rolloutId]))).toEqual([
      [['step 0', 'ro-0']],
      [['step 1', 'ro-1']],
    ]);
    expect(sinks[0]?.spans[0]?.attributes).toEqual({ ok: true, 'agentlightning.framework': 'opentelemetry' });
  });
});
