import { expect, test } from 'vitest';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { describeTracerContract } from '../testing/tracer-contract.ts';
import { withRollout } from './rollout-context.ts';
import { createTracer, tracer } from './rollout-tracer.ts';

describeTracerContract({ name: 'the built-in tracer', createTracer });

test('times come from the given clock', async () => {
  const clock = new ManualClock(5000);
  const sink = new MemorySpanSink();
  await withRollout(aRolloutContext({ sink }), () =>
    createTracer({ clock }).withSpan('step', () => clock.advance(250)),
  );
  expect(sink.spans[0]).toMatchObject({ startTimeMs: 5000, endTimeMs: 5250 });
});

test('a reserved attribute is not recorded, and the span has a refusal event', () => {
  const sink = new MemorySpanSink();
  withRollout(aRolloutContext({ sink }), () => {
    const span = tracer.startSpan('forged', { attributes: { prompt_token_ids: [1], response_token_ids: [2] } });
    span.setAttribute('agentlightning.trainable', true);
    span.setAttribute('plain', 1);
    span.end();
  });
  expect(sink.spans[0]?.attributes).toEqual({ plain: 1 });
  expect(sink.spans[0]?.events.map(({ attributes }) => attributes)).toEqual([
    { name: 'prompt_token_ids' },
    { name: 'response_token_ids' },
    { name: 'agentlightning.trainable' },
  ]);
});
