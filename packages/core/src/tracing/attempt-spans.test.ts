import { expect, test } from 'vitest';
import type { SpanInput } from '../spans/span.ts';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { AttemptSpans } from './attempt-spans.ts';
import { emitReward } from './emit-reward.ts';
import { withRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';

test('closing ends open spans, innermost first, and marks them as abandoned', () => {
  const sink = new MemorySpanSink();
  const spans = new AttemptSpans(sink);
  withRollout(aRolloutContext({ sink: spans }), () => {
    tracer.startSpan('outer');
    tracer.startSpan('inner');
    tracer.startSpan('done').end();
  });
  expect(spans.close()).toBe(2);
  expect(sink.spans.map((span) => span.name)).toEqual(['done', 'inner', 'outer']);
  expect(sink.spans[2]?.attributes).toEqual({ 'agentlightning.abandoned': true });
  expect(sink.spans[2]?.status).toEqual({ code: 'ERROR', message: 'The attempt ended before this step did.' });
  expect(sink.spans[0]?.attributes).toEqual({});
});

test('a span recorded after closing is dropped and reported', () => {
  const sink = new MemorySpanSink();
  const late: SpanInput[] = [];
  const spans = new AttemptSpans(sink, { onLateSpan: (span) => late.push(span) });
  withRollout(aRolloutContext({ sink: spans }), () => {
    spans.close();
    emitReward(1);
    tracer.withSpan('late step', () => {});
  });
  expect(sink.spans).toEqual([]);
  expect(late.map((span) => span.name)).toEqual(['agentlightning.annotation', 'late step']);
  expect(spans.close()).toBe(0);
});

test('ending an abandoned span later changes nothing and is not late', () => {
  const sink = new MemorySpanSink();
  const late: SpanInput[] = [];
  const spans = new AttemptSpans(sink, { onLateSpan: (span) => late.push(span) });
  const open = withRollout(aRolloutContext({ sink: spans }), () => tracer.startSpan('slow'));
  spans.close();
  open.end();
  expect(sink.spans).toHaveLength(1);
  expect(late).toEqual([]);
});
