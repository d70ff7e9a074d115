import { transform } from 'esbuild';
import { expect, test } from 'vitest';
import type { Span } from '../spans/span.ts';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { asAgent, asTool } from './named-steps.ts';
import { currentRollout, withRollout } from './rollout-context.ts';

async function spansOf(run: () => unknown): Promise<readonly Span[]> {
  const sink = new MemorySpanSink();
  await withRollout(aRolloutContext({ sink }), async () => await run());
  return sink.spans;
}

function pathOf(spans: readonly Span[], span: Span | undefined): string {
  const parent = spans.find(({ spanId }) => spanId === span?.parentId);
  return `${parent === undefined ? '' : `${pathOf(spans, parent)} / `}${span?.name}`;
}

test('agents and tools are nested, and model calls within carry the path of agents', async () => {
  const seen: unknown[] = [];
  const search = asTool('search', async (query: string) => {
    seen.push(currentRollout()?.agentPath);
    return { hits: [query] };
  });
  const critic = asAgent('critic', (text: string) => search(text));
  const planner = asAgent('planner', async (goal: string) => await critic(`about ${goal}`));
  const spans = await spansOf(() => planner('cats'));
  expect(seen).toEqual([['planner', 'critic']]);
  expect(spans.map((span) => pathOf(spans, span))).toContain(
    'invoke_agent planner / invoke_agent critic / execute_tool search',
  );
  expect(spans.find(({ name }) => name === 'execute_tool search')?.attributes).toMatchObject({
    'agentlightning.step.kind': 'tool-call',
    'gen_ai.tool.name': 'search',
    'gen_ai.tool.call.arguments': 'about cats',
    'gen_ai.tool.call.result': '{"hits":["about cats"]}',
    'gen_ai.agent.name': 'critic',
    'agentlightning.agent.path': 'planner>critic',
  });
});

test('results, errors and `this` are unchanged, and errors are recorded', async () => {
  const counter = {
    count: 1,
    add: asTool('add', function (this: { count: number }, by: number, times: number): number {
      if (by < 0) throw new RangeError('negative');
      return this.count + by * times;
    }),
  };
  const spans = await spansOf(() => {
    expect(counter.add(2, 3)).toBe(7);
    expect(() => counter.add(-1, 1)).toThrow(RangeError);
  });
  expect(spans.map(({ attributes }) => attributes['gen_ai.tool.call.arguments'])).toEqual(['[2,3]', '[-1,1]']);
  expect(spans[0]?.attributes['gen_ai.tool.call.result']).toBe('7');
  expect(spans[1]?.status).toEqual({ code: 'ERROR', message: 'negative' });
  expect(counter.add(1, 1)).toBe(2);
});

test('decorators name the methods of a class, by default after themselves', async () => {
  const source = `(asAgent, asTool) => class Team {
    #goal = 'cats';
    @asAgent('planner') async plan() { return await this.search(this.#goal); }
    @asTool() async search(query) { return query.length; }
  }`;
  // Node.js strips types but does not support decorators: a compiler translates them.
  const { code } = await transform(`return ${source}`.replace('return ', 'globalThis.teamOf = '), { target: 'es2022' });
  new Function(code)();
  const teamOf = Reflect.get(globalThis, 'teamOf') as (
    ...decorators: readonly [typeof asAgent, typeof asTool]
  ) => new () => { plan(): Promise<number> };
  Reflect.deleteProperty(globalThis, 'teamOf');
  const team = new (teamOf(asAgent, asTool))();
  expect(await team.plan()).toBe(4);
  const spans = await spansOf(async () => expect(await team.plan()).toBe(4));
  expect(spans.map((span) => pathOf(spans, span))).toEqual([
    'invoke_agent planner / execute_tool search',
    'invoke_agent planner',
  ]);
});

test('outside of a rollout the functions are only called', () => {
  expect(asAgent('planner', () => currentRollout())()).toBeNull();
  expect(asTool('search', (query: string) => query.length)('cats')).toBe(4);
});
