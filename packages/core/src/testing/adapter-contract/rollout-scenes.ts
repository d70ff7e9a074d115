import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { AgentLightningError } from '../../base/agent-lightning-error.ts';
import { headerNames } from '../../base/header-names.ts';
import { agentLightningAttributes } from '../../spans/span-attributes.ts';
import type { SpanSink } from '../../tracing/rollout-context.ts';
import { StoreSpanSink } from '../../tracing/store-span-sink.ts';
import type { ScriptedModel } from '../scripted-model.ts';
import { callTool, respondWith, type ScriptedRequest, type ScriptedStep } from '../scripted-model-step.ts';
import type { AdapterUnderTest, SceneTool } from './adapter-under-test.ts';
import { aGate, sceneApi } from './scene-api.ts';
import { ownKey, SceneStage } from './scene-stage.ts';
import { textOf } from './scene-trace.ts';

/** Scenes of rollouts: none, one, concurrent, ended, and with a failing sink. */
export function describeRolloutScenes<TModel>(adapter: AdapterUnderTest<TModel>): void {
  describe('rollouts', () => {
    describeWhereCallsGo(adapter);
    describeManyAtOnce(adapter);
    describeLateSpans(adapter);
    describeBrokenSinks(adapter);
  });
}

/** Checks that the only call was sent to the agent's provider unchanged. */
function expectUntouched<TModel>(adapter: AdapterUnderTest<TModel>, { requests }: ScriptedModel): void {
  expect(requests).toHaveLength(1);
  expect(requests[0]?.headers.authorization).toBe(`Bearer ${ownKey}`);
  expect(JSON.stringify(requests[0]?.headers)).not.toContain('x-agl-');
  expect(requests[0]?.path.replace(/\?.*$/, '')).toBe(sceneApi(adapter).path);
}

function describeWhereCallsGo<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('outside of a rollout the agent runs unchanged', async () => {
    await using stage = await SceneStage.open(adapter, [respondWith('5')], { hasEndpoint: false });
    expect(await stage.ask(stage.agent(), { prompt: 'What is 2 + 3?' })).toBe('5');
    expectUntouched(adapter, stage.model);
  });

  test('in a rollout without an endpoint calls are recorded and not redirected', async () => {
    await using stage = await SceneStage.open(adapter, [respondWith('5')], { hasEndpoint: false });
    const { trace } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
    expectUntouched(adapter, stage.model);
    expect(trace.modelCalls).toHaveLength(1);
  });

  test('in a rollout with an endpoint calls are redirected with their trace position', async () => {
    await using stage = await SceneStage.open(adapter, [respondWith('5')], { hasEndpoint: true });
    const { trace, rollout } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
    stage.expectAtGateway(rollout, trace);
    const [request] = stage.model.requests;
    expect(request?.headers[headerNames.agentName]).toBe('helper');
    expect(request?.headers[headerNames.agentPath]).toBe('helper');
    expect(request?.body.model).toBe('tiny');
  });

  test('with redirect: false calls are not redirected', async () => {
    const options = { hasEndpoint: true, redirect: false, ownScript: [respondWith('5')] };
    await using stage = await SceneStage.open(adapter, [], options);
    const { trace } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
    expectUntouched(adapter, stage.own);
    expect(trace.modelCalls).toHaveLength(1);
  });
}

/** Looks up a key after a macrotask, so that other rollouts interleave. */
const lookUpTool: SceneTool = {
  name: 'look_up',
  description: 'Looks up a key.',
  parameters: { key: 'string' },
  run: async ({ key }) => {
    await nextTurn();
    return `value of ${key}`;
  },
};

/** A model that calls the lookup tool for every question. */
const lookEverythingUp = ({ messages }: ScriptedRequest): Exclude<ScriptedStep, (request: never) => unknown> => {
  const last = messages.at(-1);
  return last?.role === 'tool'
    ? respondWith(`done ${flat(last.content)}`)
    : callTool('look_up', { key: flat(messages.findLast(({ role }) => role === 'user')?.content) });
};

/** Message content as text, also from a list with one part. */
function flat(content: unknown): string {
  if (!Array.isArray(content)) return String(content);
  return content.map((part: { readonly text?: unknown }) => String(part.text)).join('');
}

function describeManyAtOnce<TModel>(adapter: AdapterUnderTest<TModel>): void {
  const count = adapter.concurrentRollouts ?? 32;

  test(`${count} concurrent rollouts with one model object are isolated`, async () => {
    await using stage = await SceneStage.open(adapter, lookEverythingUp);
    const model = adapter.createModel(stage.modelOptions());
    const rollouts = Array.from({ length: count }, () => stage.rollout());
    const agent = stage.agent({ model, tools: [lookUpTool] });
    const replies = await Promise.all(
      rollouts.map(({ run }, index) =>
        run(() => stage.ask(agent, { prompt: `question ${index};`, isStreamed: index % 2 === 1 })),
      ),
    );
    for (const [index, rollout] of rollouts.entries()) {
      expect(replies[index]).toBe(`done value of question ${index};`);
      const { rolloutId, attemptId, traceId } = rollout.context;
      const trace = rollout.end();
      for (const span of trace.spans) expect(span).toMatchObject({ rolloutId, attemptId, traceId });
      expect(trace.agents).toHaveLength(1);
      expect(trace.modelCalls, `model calls in\n${trace}`).toHaveLength(2);
      for (const call of trace.modelCalls) expect(textOf(call, 'input')).toContain(`question ${index};`);
      expect(new Set(trace.modelCalls.map((call) => trace.agentAround(call)))).toEqual(new Set(['helper']));
      stage.expectAtGateway(rollout, trace);
    }
    if (adapter.modelCallsBy === 'gateway') return;
    for (const [index, { context }] of rollouts.entries()) {
      const own = stage.model.requests.filter(({ path }) => path.includes(context.rolloutId));
      expect(own).toHaveLength(2);
      for (const { messages } of own) expect(JSON.stringify(messages)).toContain(`question ${index};`);
    }
  });
}

function describeLateSpans<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('steps after the end of the attempt are not recorded, and do not fail the agent', async () => {
    const gate = aGate();
    await using stage = await SceneStage.open(adapter, [
      { ...callTool('look_up', { key: 'k' }), until: gate.opened },
      respondWith('late'),
    ]);
    const rollout = stage.rollout();
    const detached = rollout.run(() => stage.ask(stage.agent({ tools: [lookUpTool] }), { prompt: 'Take your time.' }));
    while (stage.model.requests.length === 0) await nextTurn();
    const atEnd = rollout.end();
    expect(atEnd.modelCalls.map(({ attributes }) => attributes[agentLightningAttributes.abandoned])).toEqual([true]);
    gate.open();
    expect(await detached).toBe('late');
    expect(rollout.end().spans).toEqual(atEnd.spans);
  });
}

function describeBrokenSinks<TModel>(adapter: AdapterUnderTest<TModel>): void {
  const throwing = (): never => {
    throw new AgentLightningError({ code: 'INTERNAL', message: 'The sink is broken.', remedy: 'None.' });
  };
  const unreachable = new StoreSpanSink(
    {
      appendSpans: () =>
        Promise.reject(
          new AgentLightningError({ code: 'UNREACHABLE', message: 'There is no store.', remedy: 'None.' }),
        ),
    },
    { maxTries: 1 },
  );
  const sinks: readonly (readonly [name: string, sink: SpanSink])[] = [
    ['cannot be reached', unreachable],
    ['throws', { spanStarted: throwing, spanDiscarded: throwing, append: throwing, flush: throwing }],
  ];
  test.for(sinks)('the agent does not fail when the store %s', async ([, sink]) => {
    await using stage = await SceneStage.open(adapter, [callTool('look_up', { key: 'k' }), respondWith('5')], { sink });
    const { context } = stage.rollout();
    const { run } = stage.rollout({ sink, endpoint: context.endpoint });
    expect(await run(() => stage.ask(stage.agent({ tools: [lookUpTool] }), { prompt: 'Look it up.' }))).toBe('5');
    expect(stage.model.requests).toHaveLength(2);
  });
}
