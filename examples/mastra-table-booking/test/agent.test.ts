import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { Trainer } from '@agentlightning/trainer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config, { type GuestTask } from '../agl.config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-table-booking-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const before = { Iris: 19 };
const booking: GuestTask = { message: 'A table for Gina at 15?', before, after: { ...before, Gina: 15 } };
const cancellation: GuestTask = { message: 'Cancel Iris, please.', before, after: {} };

const scenes = [
  { name: 'the right booking', task: booking, step: callTool('book_table', { guest: 'Gina', hour: 15 }), reward: 1 },
  { name: 'another hour', task: booking, step: callTool('book_table', { guest: 'Gina', hour: 16 }), reward: 0.3 },
  { name: 'another guest', task: booking, step: callTool('book_table', { guest: 'Gin', hour: 15 }), reward: 0 },
  {
    name: 'an hour that is not a number',
    task: booking,
    step: callTool('book_table', { guest: 'Gina', hour: 'late' }),
    reward: 0,
  },
  { name: 'a response without a tool call', task: booking, step: respondWith('ok'), reward: 0 },
  { name: 'the right cancellation', task: cancellation, step: callTool('cancel_table', { guest: 'Iris' }), reward: 1 },
  {
    name: 'a booking instead of a cancellation',
    task: cancellation,
    step: callTool('book_table', { guest: 'Iris', hour: 19 }),
    reward: 0,
  },
];

test.each(scenes)('the reward of $name', async ({ task, step, reward }) => {
  await using model = await ScriptedModel.start([step]);
  const tasks: readonly GuestTask[] = [task];
  const trainer = new Trainer<GuestTask>({
    ...config,
    tasks: { train: tasks, test: tasks },
    sampling: {},
    run: { ...config.run, dataDir: folder },
  });
  const { rollouts } = await trainer.dev({ tasks, endpoint: { baseUrl: model.baseUrl, model: 'any' } });
  expect(rollouts.map((rollout) => rollout.reward)).toEqual([reward]);
});
