import { emitReward, withAgent } from '@agentlightning/core';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { tool } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { modelOf, spanNamed, traced } from './traced.ts';

test('rewards and other clients’ calls within a node or a tool are its children', async () => {
  await using model = await ScriptedModel.start([callTool('guess', {}), respondWith('41'), respondWith('done')]);
  const endpoint = { baseUrl: model.baseUrl, model: 'policy', apiKey: 'key' };
  const guess = tool(
    async () => {
      emitReward(0.5);
      const client = new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: 'own', maxRetries: 0 });
      const messages = [{ role: 'user' as const, content: 'Guess.' }];
      const completion = await client.chat.completions.create({ model: 'tiny', messages });
      return completion.choices[0]?.message.content ?? '';
    },
    { name: 'guess', description: 'Guesses.', schema: z.object({}) },
  );
  const agent = createAgent({ model: modelOf(model), tools: [guess], name: 'guesser' });
  const { spans } = await traced(() => agent.invoke({ messages: [{ role: 'user', content: 'How much?' }] }), {
    endpoint,
  });
  const toolCall = spanNamed(spans, 'execute_tool guess');
  expect(spanNamed(spans, 'agentlightning.annotation').parentId).toBe(toolCall.spanId);
  const places = model.requests.map(({ headers }) => headers['x-agl-parent-span-id']);
  expect(places[1]).toBe(toolCall.spanId);
  expect(model.requests.map(({ headers }) => headers['x-agl-agent-name'])).toEqual(['guesser', 'guesser', 'guesser']);
});

test('withAgent in a tool is the parent of the model calls within it', async () => {
  await using model = await ScriptedModel.start([callTool('guess', {}), respondWith('41'), respondWith('done')]);
  const endpoint = { baseUrl: model.baseUrl, model: 'policy', apiKey: 'key' };
  const guess = tool(() => withAgent('guesser', async () => (await modelOf(model).invoke('Guess.')).text), {
    name: 'guess',
    description: 'Guesses.',
    schema: z.object({}),
  });
  const agent = createAgent({ model: modelOf(model), tools: [guess], name: 'boss' });
  const { tree } = await traced(() => agent.invoke({ messages: [{ role: 'user', content: 'How much?' }] }), {
    endpoint,
  });
  expect(tree.slice(3, 7)).toEqual([
    '  tools',
    '    execute_tool guess',
    '      invoke_agent guesser',
    '        chat tiny',
  ]);
  const paths = model.requests.map(({ headers }) => headers['x-agl-agent-path']);
  expect(paths).toEqual(['boss', 'boss>guesser', 'boss']);
});
