import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ScriptedModel } from '@agentlightning/core/testing';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeCalculator } from '../agent.ts';
import config, { type ProblemTask } from '../agl.config.ts';
import { conversation, type Demonstration } from '../demonstration.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-calc-x-'));
});
afterAll(async () => {
  await closeCalculator();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the agent on tasks, with a model that calculates the expression and then gives the answer. */
async function run(tasks: readonly ProblemTask[], expression: string, answer: string) {
  await using model = await ScriptedModel.start(({ messages }) =>
    messages.at(-1)?.['role'] === 'tool'
      ? { type: 'response', content: answer }
      : { type: 'response', toolCalls: [{ name: 'calculate', arguments: { expression } }] },
  );
  const trainer = new Trainer<ProblemTask>({
    ...config,
    tasks: { train: tasks, test: tasks },
    sampling: {}, // A tool call of the scripted model has more tokens.
    run: { ...config.run, dataDir: folder },
  });
  const { rollouts } = await trainer.dev({ tasks, endpoint: { baseUrl: model.baseUrl, model: 'any' } });
  return { rewards: rollouts.map(({ reward }) => reward), requests: model.requests };
}

test('a problem is solved with the calculator of the MCP server, and only the right answer is rewarded', async () => {
  const question = 'Ann has 12 bags of 7 nuts. How many nuts?';
  const tasks = ['84', '19'].map((answer) => ({ question, answer }));
  const { rewards, requests } = await run(tasks, '12*7', '84');
  expect(rewards).toEqual([1, 0]);
  expect(requests.map(({ messages }) => messages.at(-1)?.['content'])).toEqual(
    expect.arrayContaining([question, JSON.stringify([{ type: 'text', text: '84' }])]),
  );
});

test.each(['process.exit()', '1/0', '2+', 'import("fs")'])('the calculator has no value for %s', async (expression) => {
  const { requests } = await run([{ question: 'How many?', answer: '1' }], expression, '1');
  expect(requests.at(-1)?.messages.at(-1)?.['content']).toBe(JSON.stringify([{ type: 'text', text: 'error' }]));
});

test('a demonstration has the requests that the agent sends', async () => {
  const file = new URL('../tasks/demonstrations.jsonl', import.meta.url);
  const [first = ''] = readFileSync(file, 'utf8').split('\n');
  const demonstration: Demonstration = JSON.parse(first);
  const { question, expression, result } = demonstration;
  const { requests } = await run([{ question, answer: result }], expression, result);
  const { messages, tools } = conversation(demonstration);
  expect(requests[0]?.body).toMatchObject({ messages: messages.slice(0, 2), tools });
  const shown = JSON.parse(JSON.stringify(requests[1]?.messages).replaceAll(/"call_[\w-]+"/g, '"call_0"'));
  expect(shown).toMatchObject(messages.slice(0, 4));
});
