import { withRollout } from '@agentlightning/core';
import { findRewards } from '@agentlightning/core/spans';
import {
  aRolloutContext,
  callTool,
  MemorySpanSink,
  respondWith,
  ScriptedModel,
  type ScriptedModelScript,
} from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { type DayTask, workDay } from '../agent.ts';

const order = (key: string, amount: number) => ({ text: `Order of ${key}: ${amount}`, key, amount, isOrder: true });
const advert = (key: string, amount: number) => ({ text: `Price of ${key} is ${amount}`, key, amount, isOrder: false });

const day: DayTask = {
  messages: [
    order('A1', 11),
    ...['B2', 'C3', 'D4', 'E5', 'F6', 'G7', 'H8'].map((key, index) => advert(key, 20 + index)),
  ],
  asked: 'A1',
};

/** The last message of a request, as text. */
const lastOf = (messages: readonly { readonly content?: unknown }[]): string => String(messages.at(-1)?.content);

/** Files orders only, or everything; reports what is filed. */
function desk(isSelective: boolean): ScriptedModelScript {
  return ({ messages }) => {
    const text = lastOf(messages);
    const [key = ''] = /[A-Z]\d/.exec(text) ?? [];
    if (text.startsWith('Order') || (text.startsWith('Price') && !isSelective)) return callTool('file', { key });
    if (text.startsWith('How many')) return callTool('recall', { key });
    return respondWith(text.startsWith('Price') ? 'no' : text);
  };
}

async function work(script: ScriptedModelScript) {
  await using model = await ScriptedModel.start(script);
  const sink = new MemorySpanSink();
  const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: 'none' };
  const reward = await withRollout(aRolloutContext({ endpoint, sink }), async () => await workDay(day));
  const rewardsOf = (agent: string): number[] => {
    const own = new Set(sink.named(`invoke_agent ${agent}`).map(({ spanId }) => spanId));
    const within = sink.spans.filter(({ parentId }) => parentId !== null && own.has(parentId));
    return findRewards(within).map(({ rewards }) => rewards[0]?.value ?? Number.NaN);
  };
  const conversations = model.requests.map(({ messages }) => messages);
  return { reward, reader: rewardsOf('reader'), reporter: rewardsOf('reporter'), conversations };
}

test('a desk that files only orders answers the question', async () => {
  const { reward, reader, reporter } = await work(desk(true));
  expect(reward).toEqual({ primary: 1, filed: 1, decisions: 1 });
  expect([reader, reporter]).toEqual([
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1],
  ]);
});

test('a reader that files everything loses the order, and the reporter is not blamed', async () => {
  const { reward, reader, reporter } = await work(desk(false));
  expect(reward).toMatchObject({ primary: 0, filed: 0 });
  expect([reader, reporter]).toEqual([
    [1, 0, 0, 0, 0, 0, 0, 0],
    [1, 1],
  ]);
});

test('the conversation of the reader is compacted to the keys that are filed', async () => {
  const { conversations } = await work(desk(true));
  const reading = conversations.slice(0, day.messages.length);
  const lengths = reading.map((messages) => messages.map(({ content }) => String(content)).join('').length);
  expect(Math.max(...lengths)).toBeLessThan(160);
  expect(reading.at(-1)?.[0]?.content).toBe('You file orders. Filed: A1');
  expect(reading.at(-1)?.some(({ content }) => content === 'Order of A1: 11')).toBe(false);
});
