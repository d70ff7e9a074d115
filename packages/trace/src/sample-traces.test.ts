import { asTool, currentRollout, tracer } from '@agentlightning/core';
import { expect, test } from 'vitest';
import { type SampledTrace, sampleTraces, traceOnce } from './index.ts';

const search = asTool('search', (query: string) => query.length);

/** Collects traces, and resolves when a number of them has been reported. */
function collector(): { readonly traces: SampledTrace[]; readonly onTrace: (trace: SampledTrace) => void } {
  const traces: SampledTrace[] = [];
  return { traces, onTrace: (trace) => void traces.push(trace) };
}

test('a fraction of the calls is recorded, and only those that should be', async () => {
  const { traces, onTrace } = collector();
  const numbers = [0.1, 0.9, 0.1, 0.1];
  const answer = sampleTraces(async (query: string) => search(query), {
    sampleRate: 0.5,
    shouldRecord: (query) => query !== 'secret',
    random: () => numbers.shift() ?? 1,
    onTrace,
  });
  expect(await Promise.all(['cats', 'dogs', 'secret', 'birds'].map((query) => answer(query)))).toEqual([4, 4, 6, 5]);
  await expect.poll(() => traces.length).toBe(2);
  expect(traces.map(({ spans }) => spans.map(({ name }) => name))).toEqual([
    ['execute_tool search', 'agentlightning.rollout'],
    ['execute_tool search', 'agentlightning.rollout'],
  ]);
  expect(traces.map(({ spans }) => spans[0]?.attributes['gen_ai.tool.call.arguments'])).toEqual(['cats', 'birds']);
  expect(new Set(traces.flatMap(({ spans }) => spans.map(({ rolloutId }) => rolloutId))).size).toBe(2);
});

test('nothing is recorded by default, or within a rollout', async () => {
  const { traces, onTrace } = collector();
  expect(sampleTraces(() => currentRollout(), { onTrace })()).toBeNull();
  const answer = sampleTraces((query: string) => search(query), { sampleRate: 1, onTrace });
  const { spans } = await traceOnce((query: string) => answer(query), 'cats');
  expect(spans.map(({ name }) => name)).toContain('execute_tool search');
  await Promise.resolve();
  expect(traces).toEqual([]);
});

test('the error of a call is rethrown and part of the trace; that of the receiver does not reach the caller', async () => {
  const traces: SampledTrace[] = [];
  const failing = sampleTraces(
    () => {
      throw new RangeError('no such item');
    },
    {
      sampleRate: 1,
      onTrace: (trace) => {
        traces.push(trace);
        throw new Error('the collector is unreachable');
      },
    },
  );
  expect(failing).toThrow(RangeError);
  await expect.poll(() => traces.length).toBe(1);
  expect(traces[0]?.error).toEqual(new RangeError('no such item'));
  expect(traces[0]?.spans[0]?.status.code).toBe('ERROR');
});

test('a trace includes a response that is streamed after the call; a step that never ends is abandoned', async () => {
  const { traces, onTrace } = collector();
  const start = sampleTraces(async () => tracer.startSpan('stream'), { sampleRate: 1, maxOpenMs: 20, onTrace });
  const first = await start();
  expect(traces).toEqual([]);
  first.setAttribute('chunks', 3);
  first.end();
  await expect.poll(() => traces.length).toBe(1);
  expect(traces[0]?.spans.find(({ name }) => name === 'stream')?.attributes).toMatchObject({ chunks: 3 });
  await start();
  await expect.poll(() => traces.length).toBe(2);
  const abandoned = traces[1]?.spans.find(({ name }) => name === 'stream');
  expect(abandoned?.attributes['agentlightning.abandoned']).toBe(true);
});

test('an invalid sample rate is rejected', () => {
  for (const sampleRate of [-0.1, 1.5, Number.NaN]) {
    expect(() => sampleTraces(() => 1, { sampleRate, onTrace: () => {} })).toThrow(/Invalid sampleRate/);
  }
});
