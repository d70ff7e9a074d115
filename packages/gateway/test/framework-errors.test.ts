import { failWith, respondWith } from '@agentlightning/core/testing';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { startGateway } from './gateway-fixture.ts';

/** Makes one call, whole or streamed, and resolves with the complete response. */
type Ask = (baseURL: string, isStreamed: boolean) => Promise<string>;

function askAISDK(
  provider: (options: {
    readonly baseURL: string;
    readonly apiKey: string;
  }) => (id: string) => Parameters<typeof generateText>[0]['model'],
): Ask {
  return async (baseURL, isStreamed) => {
    const request = { model: provider({ baseURL, apiKey: 'none' })('m'), prompt: 'Hi', maxRetries: 0 };
    if (!isStreamed) return (await generateText(request)).text;
    let text = '';
    for await (const part of streamText({ ...request, onError: () => undefined }).fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') text += part.text;
    }
    return text;
  };
}

function askLangChain(modelAt: (baseURL: string) => ChatOpenAI | ChatAnthropic): Ask {
  return async (baseURL, isStreamed) => {
    const model = modelAt(baseURL);
    if (!isStreamed) return (await model.invoke('Hi')).text;
    let text = '';
    for await (const chunk of await model.stream('Hi')) text += chunk.text;
    return text;
  };
}

async function askAgents(baseURL: string, isStreamed: boolean): Promise<string> {
  const openAIClient = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: 'helper', model: 'm' });
  if (!isStreamed) return String((await runner.run(agent, 'Hi')).finalOutput);
  const run = await runner.run(agent, 'Hi', { stream: true });
  await run.completed;
  return String(run.finalOutput);
}

const asking: readonly (readonly [string, Ask])[] = [
  ['the AI SDK on Responses', askAISDK(createOpenAI)],
  ['the AI SDK on Messages', askAISDK(createAnthropic)],
  [
    'LangChain on Responses',
    askLangChain(
      (baseURL) =>
        new ChatOpenAI({
          model: 'm',
          apiKey: 'none',
          useResponsesApi: true,
          maxRetries: 0,
          configuration: { baseURL },
        }),
    ),
  ],
  [
    'LangChain on Messages',
    askLangChain(
      (anthropicApiUrl) => new ChatAnthropic({ model: 'm', apiKey: 'none', maxRetries: 0, anthropicApiUrl }),
    ),
  ],
  ['OpenAI Agents on Responses', askAgents],
];

describe.each(asking)('%s', (_, ask) => {
  it('reports the model’s error', async () => {
    await using fixture = await startGateway({ script: () => failWith(400, { message: 'too many tokens' }) });
    for (const isStreamed of [false, true]) {
      const { baseURL } = fixture.client(await fixture.attempt());
      await expect(ask(baseURL, isStreamed)).rejects.toThrow(/too many tokens/);
    }
  });

  it.each([
    ['cut', { cutAfterChunks: 3 }, /broke off/],
    ['broken by the model', { errorAfterChunks: 3 }, /scripted stream error/],
  ])('throws when a stream is %s, and the partial response is recorded', async (_how, step, words) => {
    await using fixture = await startGateway({ script: [respondWith('one two three', step)] });
    const attempt = await fixture.attempt();
    await expect(ask(fixture.client(attempt).baseURL, true)).rejects.toThrow(words);
    await fixture.gateway.drain();
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, untrainableReason: expect.stringMatching(words), response: { choices: [{}] } },
    ]);
  });
});
