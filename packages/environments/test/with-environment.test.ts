import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { tool as langchainTool } from '@langchain/core/tools';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { withEnvironment } from '../src/index.ts';
import { brokenCorridor, type CorridorTask, corridor } from './corridor.ts';

/** An agent of the AI SDK, whose model walks once. */
function walkWithAiSdk(world: typeof corridor) {
  const walkOnce = {
    finishReason: { unified: 'tool-calls', raw: undefined },
    content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'walk', input: '{"by":3}' }],
    usage: { inputTokens: {}, outputTokens: {} },
    warnings: [],
  };
  const stop = {
    ...walkOnce,
    finishReason: { unified: 'stop', raw: undefined },
    content: [{ type: 'text', text: 'ok' }],
  };
  const model = new MockLanguageModelV3({ doGenerate: [walkOnce, stop] as never });
  return withEnvironment(world, async (_task: CorridorTask, episode) => {
    const tools = Object.fromEntries(
      episode.tools.map((t) => [t.name, tool({ ...t, inputSchema: jsonSchema(t.parameters) })]),
    );
    await generateText({ model, prompt: episode.observation, tools, stopWhen: stepCountIs(3) });
    return episode.reward;
  });
}

test('the AI SDK takes the tools of an episode', async () => {
  expect(await walkWithAiSdk(corridor)({ rooms: 3 })).toBe(1);
});

test('the openai client takes the tools of an episode', async () => {
  await using model = await ScriptedModel.start([callTool('walk', { by: 3 }), respondWith('Done')]);
  const client = new OpenAI({ baseURL: model.baseUrl, apiKey: 'none' });
  const agent = withEnvironment(corridor, async (_task: CorridorTask, episode) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: episode.observation }];
    const tools: OpenAI.ChatCompletionFunctionTool[] = episode.tools.map(({ execute, ...t }) => ({
      type: 'function',
      function: { ...t, parameters: { ...t.parameters } },
    }));
    const { choices } = await client.chat.completions.create({ model: 'any', messages, tools });
    for (const call of choices[0]?.message.tool_calls ?? []) {
      if (call.type !== 'function') continue;
      const called = episode.tools.find(({ name }) => name === call.function.name);
      messages.push(choices[0]?.message ?? { role: 'assistant' });
      const content = (await called?.execute(JSON.parse(call.function.arguments))) ?? '';
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
    await client.chat.completions.create({ model: 'any', messages, tools });
    return episode.reward;
  });
  expect(await agent({ rooms: 3 })).toBe(1);
});

test('LangChain takes the tools of an episode', async () => {
  const agent = withEnvironment(corridor, async (_task: CorridorTask, episode) => {
    const tools = episode.tools.map((t) =>
      langchainTool(t.execute, { name: t.name, description: t.description, schema: t.parameters }),
    );
    expect(await tools[0]?.invoke({ by: 3 })).toBe('Room 3.');
    return episode.reward;
  });
  expect(await agent({ rooms: 3 })).toBe(1);
});

test('a framework that hides the failure of a tool does not make a reward of it', async () => {
  const world = brokenCorridor({ step: () => Promise.reject(new Error('it fell')) });
  await expect(walkWithAiSdk(world)({ rooms: 3 })).rejects.toThrow(/\[ENVIRONMENT_FAILED\]/);
});

test('parallel tool calls of a framework run one after another', async () => {
  let running = 0;
  const world = brokenCorridor({
    step: async () => {
      running += 1;
      await Promise.resolve();
      const observation = String(running);
      running -= 1;
      return { observation, reward: null, done: false };
    },
  });
  const agent = withEnvironment(world, async (_task: CorridorTask, { tools }) =>
    Promise.all(tools.map(({ execute }) => execute({}))),
  );
  expect(await agent({ rooms: 3 })).toEqual(['1', '1']);
});
