import type { AttemptedRollout } from '@agentlightning/core/store';
import { callTool, respondWith, type ScriptedResponse, type ScriptedStep } from '@agentlightning/core/testing';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatAnthropic } from '@langchain/anthropic';
import { type AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, tool as agentsTool, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type GatewayFixture, startGateway } from './gateway-fixture.ts';

const question = 'What is 2 + 3, and 4 + 5?';
const numbers = z.object({ a: z.number(), b: z.number() });
const description = 'Adds two numbers.';

const twoCalls: ScriptedResponse = {
  type: 'response',
  content: 'Let me add.',
  reasoning: 'Two sums.',
  toolCalls: [
    { name: 'add', arguments: { a: 2, b: 3 } },
    { name: 'add', arguments: { a: 4, b: 5 } },
  ],
};

/** Calls two tools at once, then responds. */
const script: readonly ScriptedStep[] = [twoCalls, respondWith('5 and 9')];

/** The model's second prompt: the question, its own turn with both tool calls, and their results. */
const secondTurn = [
  { role: 'user' },
  {
    role: 'assistant',
    content: 'Let me add.',
    // The prompt must extend the previous one and its completion, reasoning included, to form a trajectory.
    reasoning_content: 'Two sums.',
    tool_calls: [{ function: { arguments: '{"a":2,"b":3}' } }, { function: { arguments: '{"a":4,"b":5}' } }],
  },
  { role: 'tool', tool_call_id: 'call_0_0' },
  { role: 'tool', tool_call_id: 'call_0_1' },
];

async function expectCaptured(fixture: GatewayFixture, attempt: AttemptedRollout, api: string): Promise<void> {
  const messages = fixture.model.requests[1]?.messages ?? [];
  expect(messages.filter(({ role }) => role !== 'system')).toMatchObject(secondTurn);
  expect(JSON.stringify(messages.slice(-2))).toMatch(/5.*9/);
  const calls = await fixture.calls(attempt);
  expect(calls).toMatchObject([{ isTrainable: true, untrainableReason: null }, { isTrainable: true }]);
  const spans = await fixture.spans(attempt);
  expect(spans.map(({ attributes }) => attributes['agentlightning.api'])).toEqual([api, api]);
}

/** The attempt's base URL, including `/v1`. */
function baseUrl(fixture: GatewayFixture, attempt: AttemptedRollout): string {
  return fixture.client(attempt).baseURL;
}

describe('the AI SDK', () => {
  const tools = { add: tool({ description, inputSchema: numbers, execute: ({ a, b }) => a + b }) };
  const models: readonly (readonly [string, string, (baseURL: string) => LanguageModel])[] = [
    ['OpenAI', 'responses', (baseURL) => createOpenAI({ baseURL, apiKey: 'none' })('gpt-5')],
    ['Anthropic', 'messages', (baseURL) => createAnthropic({ baseURL, apiKey: 'none' })('claude-opus-4-5')],
  ];

  it.each(models)('with %s (%s) runs an agent of two turns, streamed and not', async (_, api, modelAt) => {
    await using whole = await startGateway({ script });
    const attempt = await whole.attempt();
    const request = { prompt: question, tools, stopWhen: stepCountIs(3) };
    const result = await generateText({ ...request, model: modelAt(baseUrl(whole, attempt)) });
    expect(result.text).toBe('5 and 9');
    expect(result.steps.map(({ reasoningText }) => reasoningText)).toEqual(['Two sums.', undefined]);
    await expectCaptured(whole, attempt, api);
    expect(result.steps.map(({ response }) => response.id)).toEqual(
      (await whole.calls(attempt)).map(({ responseId }) => responseId),
    );
    await using streamed = await startGateway({ script });
    const other = await streamed.attempt();
    const stream = streamText({ ...request, model: modelAt(baseUrl(streamed, other)) });
    expect(await stream.text).toBe('5 and 9');
    await expectCaptured(streamed, other, api);
    expect((await streamed.calls(other)).map(({ choices }) => choices)).toEqual(
      (await whole.calls(attempt)).map(({ choices }) => choices),
    );
  });

  it.each(models)('with %s (%s) gets its structured output', async (_, _api, modelAt) => {
    await using fixture = await startGateway({ script: [respondWith('{"sum":5}')] });
    const model = modelAt(baseUrl(fixture, await fixture.attempt()));
    const output = Output.object({ schema: z.object({ sum: z.number() }) });
    expect((await generateText({ model, prompt: question, output })).output).toEqual({ sum: 5 });
    expect(fixture.model.requests[0]?.body.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { schema: { properties: { sum: { type: 'number' } } } },
    });
  });
});

describe('LangChain', () => {
  const add = langchainTool(({ a, b }: z.output<typeof numbers>) => String(a + b), {
    name: 'add',
    description,
    schema: numbers,
  });
  const models = [
    [
      'ChatOpenAI on Responses',
      'responses',
      (baseURL: string) =>
        new ChatOpenAI({
          model: 'gpt-5',
          apiKey: 'none',
          useResponsesApi: true,
          maxRetries: 0,
          configuration: { baseURL },
        }),
    ],
    [
      'ChatAnthropic',
      'messages',
      (baseURL: string) =>
        new ChatAnthropic({ model: 'claude-opus-4-5', apiKey: 'none', maxRetries: 0, anthropicApiUrl: baseURL }),
    ],
  ] as const;

  it.each(models)('with %s (%s) runs an agent of two turns, streamed and not', async (_, api, modelAt) => {
    for (const isStreamed of [false, true]) {
      await using fixture = await startGateway({ script });
      const attempt = await fixture.attempt();
      const model = modelAt(baseUrl(fixture, attempt)).bindTools([add]);
      const ask = async (messages: (HumanMessage | AIMessage | ToolMessage)[]): Promise<AIMessage> => {
        if (!isStreamed) return await model.invoke(messages);
        let whole: AIMessageChunk | null = null;
        for await (const chunk of await model.stream(messages)) whole = whole === null ? chunk : whole.concat(chunk);
        return whole ?? expect.unreachable();
      };
      const first = await ask([new HumanMessage(question)]);
      expect(first.tool_calls?.map(({ args }) => args)).toEqual([
        { a: 2, b: 3 },
        { a: 4, b: 5 },
      ]);
      const results = (first.tool_calls ?? []).map(
        ({ id, args }) => new ToolMessage({ tool_call_id: id ?? '', content: String(Number(args.a) + Number(args.b)) }),
      );
      const second = await ask([new HumanMessage(question), first, ...results]);
      expect(second.text).toBe('5 and 9');
      await expectCaptured(fixture, attempt, api);
    }
  });

  it.each(models)('with %s (%s) gets its structured output', async (_, api, modelAt) => {
    const said = api === 'messages' ? callTool('result', { sum: 5 }) : respondWith('{"sum":5}');
    await using fixture = await startGateway({ script: [said] });
    const model = modelAt(baseUrl(fixture, await fixture.attempt()));
    const structured = model.withStructuredOutput(z.object({ sum: z.number() }), { name: 'result' });
    expect(await structured.invoke(question)).toEqual({ sum: 5 });
  });
});

describe('the OpenAI Agents SDK', () => {
  const add = agentsTool({ name: 'add', description, parameters: numbers, execute: ({ a, b }) => String(a + b) });

  it.each([false, true])('on Responses runs an agent of two turns, streamed: %s', async (isStreamed) => {
    await using fixture = await startGateway({ script });
    const attempt = await fixture.attempt();
    const modelProvider = new OpenAIProvider({ openAIClient: fixture.client(attempt), useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agent = new Agent({ name: 'adder', instructions: 'Add.', model: 'gpt-5', tools: [add] });
    if (isStreamed) {
      const run = await runner.run(agent, question, { stream: true });
      await run.completed;
      expect(run.finalOutput).toBe('5 and 9');
    } else expect((await runner.run(agent, question)).finalOutput).toBe('5 and 9');
    await expectCaptured(fixture, attempt, 'responses');
  });
});
