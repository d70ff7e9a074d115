import { expect, test } from 'vitest';
import type { Span } from '../spans/span.ts';
import { genAiAttributes, modelCallAttributes } from '../spans/span-attributes.ts';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { withRollout } from '../tracing/rollout-context.ts';
import { AgentSteps } from './agent-steps.ts';
import { LoopSteps } from './loop-steps.ts';

function recorded(run: (loop: LoopSteps) => void): readonly Span[] {
  const sink = new MemorySpanSink();
  withRollout(aRolloutContext({ sink }), () => {
    const steps = new AgentSteps({ framework: 'test' });
    steps.start({ id: 'a', parentId: null, kind: 'agent', name: 'clerk' });
    run(new LoopSteps(steps, { parentId: 'a', model: 'tiny' }));
    steps.end('a');
    expect(steps.openCount).toBe(0);
  });
  return sink.spans;
}

test('each step has a model call with its request and response, and ends with the next step', () => {
  const spans = recorded((loop) => {
    for (const text of ['one', 'two']) {
      loop.startStep();
      loop.startCall();
      loop.setRequest({ model: 'tiny', messages: [{ role: 'user', content: 'hi' }] });
      loop.take({ type: 'text-delta', delta: text });
      loop.take({ type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 2 } });
    }
    loop.end();
  });
  expect(spans.map(({ name }) => name)).toEqual(['chat tiny', 'step 1', 'chat tiny', 'step 2', 'invoke_agent clerk']);
  const [first, step, second, , agent] = spans;
  expect([first?.parentId, step?.parentId]).toEqual([step?.spanId, agent?.spanId]);
  expect(second?.attributes).toMatchObject({
    [genAiAttributes.inputMessages]: '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
    [genAiAttributes.responseFinishReasons]: ['stop'],
    [genAiAttributes.usageOutputTokens]: 2,
  });
  expect(String(second?.attributes[genAiAttributes.outputMessages])).toContain('two');
});

test('an aborted call has the received part, and a resumed loop its step number', () => {
  const [call, step] = recorded((loop) => {
    loop.stepCount = 4;
    loop.startStep();
    expect([loop.stepId === null, loop.callId]).toEqual([false, null]);
    loop.startCall();
    loop.setRequest('no JSON');
    loop.take({ type: 'text-delta', delta: 'on' });
    loop.end({ isAborted: true });
    expect([loop.stepId, loop.callId]).toEqual([null, null]);
  });
  expect(step?.name).toBe('step 5');
  expect(call?.attributes[modelCallAttributes.isPartial]).toBe(true);
  expect(String(call?.attributes[genAiAttributes.outputMessages])).toContain('"on"');
});

test('a call without a step is a child of the agent', () => {
  const [call, agent] = recorded((loop) => {
    loop.startCall();
    loop.end({ error: new Error('the server is down') });
  });
  expect([call?.parentId, call?.status.message]).toEqual([agent?.spanId, 'the server is down']);
});
