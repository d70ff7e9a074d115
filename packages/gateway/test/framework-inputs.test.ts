import { callTool, respondWith } from '@agentlightning/core/testing';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, stepCountIs, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startGateway } from './gateway-fixture.ts';

/** An image of one pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const dataUrl = `data:image/png;base64,${png}`;

type Show = (baseURL: string) => Promise<unknown>;

const seen = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url: dataUrl } },
    ],
  },
];

const aiContent = [
  { type: 'text' as const, text: 'Look.' },
  { type: 'file' as const, data: png, mediaType: 'image/png' },
];

const chainMessage = new HumanMessage({
  content: [
    { type: 'text', text: 'Look.' },
    { type: 'image_url', image_url: { url: dataUrl } },
  ],
});

const showing: readonly (readonly [string, Show])[] = [
  [
    'the AI SDK on Responses',
    (baseURL) =>
      generateText({
        model: createOpenAI({ baseURL, apiKey: 'none' })('gpt-5'),
        messages: [{ role: 'user', content: aiContent }],
      }),
  ],
  [
    'the AI SDK on Messages',
    (baseURL) =>
      generateText({
        model: createAnthropic({ baseURL, apiKey: 'none' })('claude-opus-4-5'),
        messages: [{ role: 'user', content: aiContent }],
      }),
  ],
  [
    'LangChain on Responses',
    (baseURL) =>
      new ChatOpenAI({ model: 'gpt-5', apiKey: 'none', useResponsesApi: true, configuration: { baseURL } }).invoke([
        chainMessage,
      ]),
  ],
  [
    'LangChain on Messages',
    (anthropicApiUrl) =>
      new ChatAnthropic({ model: 'claude-opus-4-5', apiKey: 'none', anthropicApiUrl }).invoke([chainMessage]),
  ],
];

describe('an image', () => {
  it.each(showing)('of %s reaches the model, and the call is not trained on', async (_, show) => {
    await using fixture = await startGateway({ script: [respondWith('A dot.')] });
    const attempt = await fixture.attempt();
    await show(fixture.client(attempt).baseURL);
    expect(fixture.model.requests[0]?.messages).toMatchObject(seen);
    expect(await fixture.calls(attempt)).toMatchObject([
      { isTrainable: false, untrainableReason: expect.stringContaining('a part of the type `image_url`') },
    ]);
  });
});

describe('an earlier response', () => {
  it('is sent back complete by the AI SDK when nothing is stored', async () => {
    const turn = { ...callTool('add', { a: 2 }), reasoning: 'A sum.', content: 'Let me add.' };
    await using fixture = await startGateway({ script: [turn, respondWith('5')] });
    const { baseURL } = fixture.client(await fixture.attempt());
    await generateText({
      model: createOpenAI({ baseURL, apiKey: 'none' })('gpt-5'),
      prompt: '2 + 3?',
      tools: { add: tool({ inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a + 3 }) },
      stopWhen: stepCountIs(3),
      providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    });
    expect(fixture.model.requests[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Let me add.', reasoning_content: 'A sum.', tool_calls: [{}] },
      { role: 'tool', content: '5' },
    ]);
  });

  it('is continued by OpenAI Agents, by its id', async () => {
    await using fixture = await startGateway({ script: [respondWith('5'), respondWith('6')] });
    const openAIClient = fixture.client(await fixture.attempt());
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agent = new Agent({ name: 'adder', instructions: 'Add.', model: 'gpt-5' });
    const { lastResponseId } = await runner.run(agent, '2 + 3?');
    await runner.run(agent, 'And one more?', { previousResponseId: lastResponseId ?? '' });
    expect(fixture.model.requests[1]?.messages).toEqual([
      { role: 'system', content: 'Add.' },
      { role: 'user', content: '2 + 3?' },
      { role: 'assistant', content: '5' },
      { role: 'user', content: 'And one more?' },
    ]);
  });
});
