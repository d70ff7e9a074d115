import { readFileSync } from 'node:fs';
import { withRollout } from '@agentlightning/core';
import { aRolloutContext, callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { selectRoom } from '../agent.ts';
import { roomTask } from '../rooms.ts';

const [line = ''] = readFileSync(new URL('../tasks/test.jsonl', import.meta.url), 'utf8').split('\n');
const task = roomTask.parse(JSON.parse(line));

/** The answer of the agent to a script, within a rollout whose endpoint is the scripted model. */
async function answerTo(model: ScriptedModel): Promise<string> {
  const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: 'none' };
  return await withRollout(aRolloutContext({ endpoint }), async () => await selectRoom(task));
}

test('the agent looks up the rooms of its building and returns the name of one', async () => {
  await using model = await ScriptedModel.start([callTool('list_rooms', {}), respondWith(' A1 ')]);
  expect(await answerTo(model)).toBe('A1');
  const [user, , tool] = model.requests[1]?.messages ?? [];
  expect(user?.content).toMatch(/^Select a room\.\n\nMeeting: \d+:00 to \d+:00, \d+ people/);
  expect(JSON.parse(String(tool?.content))).toEqual(task.rooms);
});

test('an agent that never names a room has no answer', async () => {
  await using model = await ScriptedModel.start(() => callTool('list_rooms', {}));
  expect(await answerTo(model)).toBe('');
  expect(model.requests).toHaveLength(3);
});
