import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instrumentAISDK } from '@agentlightning/ai-sdk';
import { traceQuery } from '@agentlightning/claude-agent-sdk';
import { withAgent, withRollout } from '@agentlightning/core';
import { joinModelCalls, modelCallFromSpan, StoreSpanSink } from '@agentlightning/core/spans';
import { newTraceId } from '@agentlightning/core/store';
import { callTool, respondWith } from '@agentlightning/core/testing';
import { traceFetch } from '@agentlightning/fetch';
import { instrumentLangChain } from '@agentlightning/langchain';
import { instrumentMastra } from '@agentlightning/mastra';
import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { tool as claudeTool, createSdkMcpServer, query } from '@anthropic-ai/claude-agent-sdk';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, tool as agentsTool, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, type LanguageModel, stepCountIs, tool } from 'ai';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type GatewayFixture, startGateway } from './gateway-fixture.ts';

const nowhere = 'http://provider.invalid/v1';
const numbers = z.object({ a: z.number(), b: z.number() });

let undo = (): void => {};
afterEach(() => undo());

/** A gateway whose model calls a tool, then responds. */
function twoTurns(): Promise<GatewayFixture> {
  return startGateway({ script: [callTool('add', { a: 2, b: 3 }), respondWith('5')] });
}

/** Runs an agent in a rollout, and joins the records of its calls. */
async function joined(
  fixture: GatewayFixture,
  run: () => Promise<unknown>,
): Promise<
  readonly {
    readonly api: unknown;
    readonly isTrainable: boolean;
    readonly agent: unknown;
    readonly hasStep: boolean;
  }[]
> {
  const rollout = await fixture.attempt();
  const { rolloutId, attempt } = rollout;
  const sink = new StoreSpanSink(fixture.store);
  const endpoint = { baseUrl: fixture.client(rollout).baseURL, model: 'policy', apiKey: null };
  const context = { rolloutId, attemptId: attempt.attemptId, mode: null, traceId: newTraceId(), parentSpanId: null };
  const { signal } = new AbortController();
  await withRollout({ ...context, agentName: null, sink, endpoint, signal }, run);
  await sink.flush();
  const { items } = await fixture.store.querySpans({ rolloutId });
  return joinModelCalls(items).map(({ captured, step }) => ({
    api: captured?.attributes['agentlightning.api'],
    isTrainable: (captured === null ? null : modelCallFromSpan(captured))?.isTrainable === true,
    agent: (step ?? captured)?.attributes['agent.name'],
    hasStep: step !== null,
  }));
}

describe('adapter steps and gateway records of', () => {
  const ai: readonly (readonly [string, LanguageModel])[] = [
    ['responses', createOpenAI({ baseURL: nowhere, apiKey: 'own' })('gpt-5')],
    ['messages', createAnthropic({ baseURL: nowhere, apiKey: 'own' })('claude-opus-4-5')],
  ];

  it.each(ai)('the AI SDK on %s are joined to one call each', async (api, model) => {
    await using fixture = await twoTurns();
    undo = instrumentAISDK();
    const tools = { add: tool({ inputSchema: numbers, execute: ({ a, b }) => a + b }) };
    const telemetry = { functionId: 'adder' };
    const run = (): Promise<unknown> =>
      generateText({ model, prompt: '2 + 3?', tools, stopWhen: stepCountIs(3), telemetry });
    const call = { api, isTrainable: true, agent: 'adder', hasStep: true };
    expect(await joined(fixture, run)).toEqual([call, call]);
  });

  const chain = [
    [
      'responses',
      new ChatOpenAI({ model: 'gpt-5', apiKey: 'own', useResponsesApi: true, configuration: { baseURL: nowhere } }),
    ],
    ['messages', new ChatAnthropic({ model: 'claude-opus-4-5', apiKey: 'own', anthropicApiUrl: nowhere })],
  ] as const;

  it.each(chain)('LangChain on %s are joined to one call each', async (api, model) => {
    await using fixture = await startGateway({ script: () => respondWith('5') });
    undo = instrumentLangChain();
    const run = (): Promise<unknown> =>
      withAgent('adder', async () => {
        await model.invoke('2 + 3?');
        for await (const _ of await model.stream('2 + 3?'));
      });
    const call = { api, isTrainable: true, agent: 'adder', hasStep: true };
    expect(await joined(fixture, run)).toEqual([call, call]);
  });

  it('OpenAI Agents on Responses are joined to one call each', async () => {
    await using fixture = await twoTurns();
    undo = instrumentOpenAIAgents();
    const add = agentsTool({
      name: 'add',
      description: 'Adds.',
      parameters: numbers,
      execute: ({ a, b }) => String(a + b),
    });
    const client = new OpenAI({ baseURL: nowhere, apiKey: 'own' });
    const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }) });
    const agent = new Agent({ name: 'adder', model: 'gpt-5', tools: [add] });
    const call = { api: 'responses', isTrainable: true, agent: 'adder', hasStep: true };
    expect(await joined(fixture, () => runner.run(agent, '2 + 3?'))).toEqual([call, call]);
  });

  it.each(['chat', 'responses'] as const)('Mastra on %s are joined to one call each', async (api) => {
    await using fixture = await twoTurns();
    undo = instrumentMastra(MastraAgent);
    const execute = async ({ a, b }: { a: number; b: number }): Promise<number> => a + b;
    const add = createTool({ id: 'add', description: 'Adds.', inputSchema: numbers, execute });
    const model = { providerId: 'own', modelId: 'gpt-5', url: nowhere, apiKey: 'own', api };
    const agent = new MastraAgent({ id: 'adder', name: 'adder', instructions: 'Add.', model, tools: { add } });
    const name = api === 'chat' ? 'chat-completions' : api;
    const call = { api: name, isTrainable: true, agent: 'adder', hasStep: true };
    expect(await joined(fixture, () => agent.generate('2 + 3?'))).toEqual([call, call]);
  });

  it('Claude Code on Messages are joined to one call each', async () => {
    await using fixture = await startGateway({
      script: [callTool('mcp__sums__add', { a: 2, b: 3 }), respondWith('5')],
    });
    const add = claudeTool('add', 'Adds.', numbers.shape, async ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
    }));
    const options = {
      model: 'claude-opus-4-5',
      systemPrompt: 'Add.',
      tools: [],
      mcpServers: { sums: createSdkMcpServer({ name: 'sums', alwaysLoad: true, tools: [add] }) },
      allowedTools: ['mcp__sums__add'],
      settingSources: [],
      persistSession: false,
      env: {
        PATH: process.env['PATH'],
        HOME: tmpdir(),
        CLAUDE_CONFIG_DIR: join(tmpdir(), 'agentlightning-claude-tests'),
      },
    };
    const run = async (): Promise<void> => {
      for await (const _ of traceQuery(query, { agentName: 'adder' })({ prompt: '2 + 3?', options }));
    };
    const call = { api: 'messages', isTrainable: true, agent: 'adder', hasStep: true };
    expect(await joined(fixture, run)).toEqual([call, call]);
  });
});

describe('a fetch routed to the gateway', () => {
  it('routes Responses and Messages', async () => {
    await using fixture = await startGateway({ script: () => respondWith('5') });
    const fetch = traceFetch();
    const openai = new OpenAI({ baseURL: nowhere, apiKey: 'own', fetch });
    const anthropic = new Anthropic({ baseURL: 'http://provider.invalid', apiKey: 'own', fetch });
    const run = (): Promise<unknown> =>
      withAgent('adder', async () => {
        await openai.responses.create({ model: 'gpt-5', input: '2 + 3?' });
        await anthropic.messages.create({
          model: 'claude',
          max_tokens: 9,
          messages: [{ role: 'user', content: '2 + 3?' }],
        });
      });
    const call = { isTrainable: true, agent: 'adder', hasStep: false };
    expect(await joined(fixture, run)).toEqual([
      { api: 'responses', ...call },
      { api: 'messages', ...call },
    ]);
  });
});
