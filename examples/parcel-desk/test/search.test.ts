import { withRollout } from '@agentlightning/core';
import { aRolloutContext, callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fileMessage } from '../agent.ts';
import { respond } from '../scripted-models.ts';
import { search } from './searches.ts';

// Never a real model, whatever the machine has.
beforeEach(() => void vi.stubEnv('OPENAI_API_KEY', undefined));
afterEach(() => void vi.unstubAllEnvs());

test('a short search changes descriptions of tools and draws examples', { timeout: 180_000 }, async () => {
  const { summary, warnings } = await search({
    algorithm: { type: 'gepa', maxRollouts: 500, maxOptimizerCalls: 100, reflectionTasks: 4 },
  });
  const { versions = [], best } = summary.prompts ?? {};
  const found = versions.find(({ version }) => version === best);
  expect([summary.isImproved, warnings]).toEqual([true, []]);
  const changed = Object.entries(found?.prompts ?? {}).flatMap(([name, { template }]) =>
    template === versions[0]?.prompts[name]?.template ? [] : [name],
  );
  expect(changed.some((name) => name.startsWith('find_'))).toBe(true);
  expect(versions.some(({ examples }) => (examples?.['examples']?.length ?? 0) > 0)).toBe(true);
});

test('the lookup has only the message and the tools, and its first call counts', async () => {
  const script = [
    callTool('find_order', { number: '12345' }),
    callTool('find_parcel', { number: '1' }),
    respondWith(' K1 '),
  ];
  await using model = await ScriptedModel.start(script);
  const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: 'none' };
  const filed = await withRollout(aRolloutContext({ endpoint }), async () => await fileMessage('Where is 12345?'));
  expect(filed).toEqual({ tool: 'find_order', number: '12345', code: 'K1' });
  const [first, second] = model.requests.map(({ messages }) => messages?.map(({ role }) => role));
  expect([first, second]).toEqual([['user'], ['system', 'user', 'assistant', 'tool']]);
});

test.each([
  ['find_order', ['Finds what was charged.', 'Finds parcels.'], 'I was charged twice, number 12345.'],
  ['find_parcel', ['Finds what was charged.', 'Finds parcels.'], 'My parcel is lost, number 12345.'],
  ['find_order', ['Finds parcels.', 'Finds what was charged.'], 'My parcel is lost, number 12345.'],
])('the clerk chooses %s by the words of %j', (expected, toolDescriptions, content) => {
  const tools = ['find_order', 'find_parcel'];
  const request = { model: 'clerk', tools, toolDescriptions, messages: [{ role: 'user', content }] };
  expect(respond(request)).toEqual({ call: { name: expected, arguments: { number: '12345' } } });
});

test('the clerk imitates the most similar example', () => {
  const content = 'Codes.\n\nMessage: the box arrived broken\nCode: K9\n\nMessage: forgot my password\nCode: K8';
  const messages = [
    { role: 'system', content },
    { role: 'user', content: 'My password is broken and forgotten' },
    { role: 'tool', content: 'found' },
  ];
  const reply = (user: string): unknown =>
    respond({
      model: 'clerk',
      tools: [],
      toolDescriptions: [],
      messages: messages.map((each) => (each.role === 'user' ? { ...each, content: user } : each)),
    });
  expect(reply('What about my password?')).toEqual({ content: 'K8' });
  expect(reply('It arrived in a broken box.')).toEqual({ content: 'K9' });
});
