import { asOperation, emitReward, tracer } from '@agentlightning/core';
import { AgentSteps } from '@agentlightning/core/adapter';
import { describe, expect, test } from 'vitest';
import { type TracedAgent, traceOnce, traceSteps, traceText } from './index.ts';

const textPart = (content: string): object => ({ type: 'text', content });

/** Records a model call as an adapter does. */
async function callModel(question: string, answer: string): Promise<string> {
  const steps = new AgentSteps({ framework: 'test' });
  const input = JSON.stringify([{ role: 'user', parts: [textPart(question)] }]);
  steps.start({
    id: 'm',
    parentId: null,
    kind: 'model-call',
    name: 'tiny',
    attributes: { 'gen_ai.input.messages': input },
  });
  await Promise.resolve();
  const output = JSON.stringify([{ role: 'assistant', parts: [textPart(answer)] }]);
  steps.end('m', { attributes: { 'gen_ai.output.messages': output } });
  return answer;
}

test('a trace has the spans, the reward and the conversation of an agent', async () => {
  const lookUp = asOperation((part: string) => ({ part, count: 7 }), { name: 'look up' });
  const agent = async (task: { question: string }): Promise<number> => {
    lookUp('bolt');
    return (await callModel(task.question, 'There are 7.')) === 'There are 7.' ? 0.5 : 0;
  };
  const { spans, reward, conversation, error } = await traceOnce(agent, { question: 'How many bolts?' });
  expect(error).toBeNull();
  expect(reward).toBe(0.5);
  expect(conversation).toEqual([
    { role: 'user', parts: [{ type: 'text', text: 'How many bolts?' }] },
    { role: 'assistant', parts: [{ type: 'text', text: 'There are 7.' }] },
  ]);
  const tree = traceText(traceSteps(spans));
  expect(tree).toMatch(/^└─ #\d+ {2}rollout/);
  expect(tree).toMatch(/\n {3}[├└]─ #\d+ {2}look up/);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});

test('parallel traces are isolated from each other', async () => {
  const agent = async (task: number): Promise<void> => {
    await callModel(`question ${task}`, `answer ${task}`);
    emitReward(task);
  };
  const traces = await Promise.all([1, 2, 3].map((task) => traceOnce(agent, task)));
  expect(traces.map(({ reward }) => reward)).toEqual([1, 2, 3]);
  expect(traces.map(({ conversation }) => conversation[1]?.parts[0]?.text)).toEqual([
    'answer 1',
    'answer 2',
    'answer 3',
  ]);
});

describe('an agent that does not succeed', () => {
  const cases: readonly (readonly [string, TracedAgent<null>, RegExp])[] = [
    ['throws', () => tracer.withSpan('step', () => Promise.reject(new Error('no hands'))), /no hands/],
    ['throws undefined', () => Promise.reject(undefined), /The agent threw undefined/],
    ['returns an invalid reward', () => Number.NaN, /INVALID_REWARD/],
  ];
  test.each(cases)('%s', async (_name, agent, message) => {
    const { error, reward, spans } = await traceOnce(agent, null);
    expect(String(error)).toMatch(message);
    expect(reward).toBeNull();
    expect(spans.at(-1)?.status.code).toBe('ERROR');
  });

  test('hangs, and is traced up to the signal', async () => {
    const stop = new AbortController();
    const agent: TracedAgent<null> = (_task, { signal }) =>
      tracer.withSpan('waits', async () => {
        queueMicrotask(() => stop.abort(new Error('enough')));
        await new Promise(() => signal);
      });
    const { error, spans } = await traceOnce(agent, null, { signal: stop.signal });
    expect(error).toEqual(new Error('enough'));
    expect(spans.find(({ name }) => name === 'waits')?.attributes['agentlightning.abandoned']).toBe(true);
    expect((await traceOnce(agent, null, { signal: stop.signal })).error).toEqual(new Error('enough'));
  });
});
