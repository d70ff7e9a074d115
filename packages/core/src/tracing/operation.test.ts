import { expect, test } from 'vitest';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { asOperation } from './operation.ts';
import { withRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';
import { withAgent } from './with-agent.ts';

test('a call is recorded with arguments and result', async () => {
  const sink = new MemorySpanSink();
  const search = asOperation(
    async function search(query: string, options: { limit: number; tags: string[] }) {
      return { query, hits: [{ id: 1 }], none: null, limit: options.limit };
    },
    { attributes: { category: 'retrieval' } },
  );
  const result = await withRollout(aRolloutContext({ sink }), () => search('cats', { limit: 2, tags: ['a', 'b'] }));
  expect(result.hits).toEqual([{ id: 1 }]);
  expect(sink.spans[0]).toMatchObject({ name: 'agentlightning.operation', status: { code: 'UNSET' } });
  expect(sink.spans[0]?.attributes).toEqual({
    'agentlightning.operation.name': 'search',
    category: 'retrieval',
    'agentlightning.operation.input.args.0': 'cats',
    'agentlightning.operation.input.args.1.limit': 2,
    'agentlightning.operation.input.args.1.tags': ['a', 'b'],
    'agentlightning.operation.output.query': 'cats',
    'agentlightning.operation.output.hits.0.id': 1,
    'agentlightning.operation.output.limit': 2,
  });
});

test('a wrapped function keeps this, result and error', () => {
  const sink = new MemorySpanSink();
  const counter = {
    count: 1,
    add: asOperation(function (this: { count: number }, by: number): number {
      if (by < 0) throw new RangeError('negative');
      return this.count + by;
    }),
  };
  withRollout(aRolloutContext({ sink }), () => {
    expect(counter.add(2)).toBe(3);
    expect(() => counter.add(-1)).toThrow('negative');
  });
  expect(sink.spans[0]?.attributes).toMatchObject({ 'agentlightning.operation.output': 3 });
  expect(sink.spans[1]?.status).toEqual({ code: 'ERROR', message: 'negative' });
  expect(counter.add(5)).toBe(6);
});

test('values without a JSON form, large values and holes are recorded as far as possible', () => {
  const sink = new MemorySpanSink();
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const large = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, index]));
  const run = asOperation((..._values: unknown[]) => undefined, { name: 'odd' });
  withRollout(aRolloutContext({ sink }), () => run(cycle, large, [1, null], undefined, Number.NaN));
  expect(sink.spans[0]?.attributes).toEqual({
    'agentlightning.operation.name': 'odd',
    'agentlightning.operation.input.args.0': '[object Array]',
    'agentlightning.operation.input.args.1': JSON.stringify(large),
    'agentlightning.operation.input.args.2.0': 1,
    'agentlightning.operation.input.args.2.1': 'null',
    'agentlightning.operation.input.args.4': 'NaN',
  });
});

test('spans of an agent are children of its span, and the context carries its name', async () => {
  const sink = new MemorySpanSink();
  await withRollout(aRolloutContext({ sink }), () =>
    withAgent('writer', async () => {
      await withAgent('critic', () => Promise.resolve());
      tracer.startSpan('draft').end();
    }),
  );
  const [critic, draft, writer] = sink.spans;
  expect(writer).toMatchObject({
    name: 'invoke_agent writer',
    attributes: { 'gen_ai.agent.name': 'writer', 'agent.name': 'writer' },
  });
  expect(critic?.parentId).toBe(writer?.spanId);
  expect(draft?.parentId).toBe(writer?.spanId);
});
