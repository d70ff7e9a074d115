import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { type CodeTask, writeProgram } from '../agent.ts';
import { QuickJsSandbox } from '../sandbox.ts';

const task: CodeTask = {
  parameters: ['a', 'b'],
  description: 'Take a from b.',
  tests: [
    { input: [1, 5], output: 4 },
    { input: [2, 2], output: 0 },
  ],
};

/** The reward of these programs, and the reports that the model received. */
async function attempt(programs: readonly string[]): Promise<{ reward: number; reports: unknown[] }> {
  await using model = await ScriptedModel.start(programs.map((code) => callTool('run', { code })));
  const client = new OpenAI({ apiKey: 'none', baseURL: model.baseUrl });
  const reward = await writeProgram(task, { client, sandbox: new QuickJsSandbox() });
  const reports = model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
  return { reward, reports: reports.map(({ content }) => content) };
}

test('the reward is the share of hidden tests that pass', async () => {
  expect(await attempt(['b-a'])).toEqual({ reward: 1, reports: [] });
  expect(await attempt(['a-b', 'a-b'])).toEqual({ reward: 0.5, reports: ['wrong'] });
});

test('a program that fails can be corrected once', async () => {
  expect(await attempt(['b-', 'b-a'])).toEqual({ reward: 1, reports: ['error'] });
  expect(await attempt(['a+b', 'nothing'])).toEqual({ reward: 0, reports: ['wrong'] });
});

test('a model that runs nothing gets 0', async () => {
  await using model = await ScriptedModel.start([respondWith('b-a')]);
  const client = new OpenAI({ apiKey: 'none', baseURL: model.baseUrl });
  expect(await writeProgram(task, { client, sandbox: new QuickJsSandbox() })).toBe(0);
});
