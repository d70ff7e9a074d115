import { type RolloutContext, withAgent } from '@agentlightning/core';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import * as agents from '@openai/agents';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { warningsDuring } from '../../../tools/adapter-tests/adapter-warnings.ts';
import { instrumentOpenAIAgents } from '../src/index.ts';
import { ofKind, recorded } from './recorded-run.ts';

let undo = (): void => {};
afterEach(() => undo());

function at({ baseUrl }: ScriptedModel): Partial<RolloutContext> {
  return { endpoint: { baseUrl, model: 'policy', apiKey: 'gateway-key' } };
}

function clientOf({ baseUrl }: ScriptedModel, fetch?: typeof globalThis.fetch): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: 'own-key', maxRetries: 0, ...(fetch === undefined ? {} : { fetch }) });
}

describe('redirection', () => {
  test('an already used default client is redirected in rollouts only', async () => {
    await using own = await ScriptedModel.start(() => respondWith('own'));
    await using gateway = await ScriptedModel.start([respondWith('trained')]);
    agents.setDefaultOpenAIClient(clientOf(own));
    const agent = new agents.Agent({ name: 'Helper', instructions: 'Help.', model: 'tiny' });
    expect((await agents.run(agent, 'go')).finalOutput).toBe('own');
    undo = instrumentOpenAIAgents();
    const { result } = await recorded(() => agents.run(agent, 'go'), at(gateway));
    expect(result.finalOutput).toBe('trained');
    expect((await agents.run(agent, 'go')).finalOutput).toBe('own');
    expect(gateway.requests[0]?.api).toBe('responses');
  });

  test('a client with its own fetch keeps using it', async () => {
    await using own = await ScriptedModel.start([]);
    await using gateway = await ScriptedModel.start([respondWith('trained')]);
    const urls: string[] = [];
    const client = clientOf(own, (input, init) => {
      urls.push(String(input));
      return fetch(input, init);
    });
    undo = instrumentOpenAIAgents();
    const agent = new agents.Agent({
      name: 'Helper',
      instructions: 'Help.',
      model: new agents.OpenAIChatCompletionsModel(client, 'tiny'),
    });
    await recorded(() => agents.run(agent, 'go'), at(gateway));
    expect(urls).toEqual([`${gateway.baseUrl}/chat/completions`]);
  });

  test('calls excluded by shouldRedirect are not redirected', async () => {
    await using own = await ScriptedModel.start([respondWith('fine')]);
    await using gateway = await ScriptedModel.start([]);
    undo = instrumentOpenAIAgents({ shouldRedirect: ({ model }) => model !== 'judge' });
    const judge = new agents.Agent({
      name: 'Judge',
      instructions: 'Judge.',
      model: new agents.OpenAIChatCompletionsModel(clientOf(own), 'judge'),
    });
    const { result, spans } = await recorded(() => agents.run(judge, 'go'), at(gateway));
    expect(result.finalOutput).toBe('fine');
    expect(ofKind(spans, 'model-call')).toHaveLength(1);
  });

  test('an existing client is redirected without tracing, and before the first agent', async () => {
    await using own = await ScriptedModel.start([]);
    await using gateway = await ScriptedModel.start(() => respondWith('trained'));
    const client = clientOf(own);
    const model = new agents.OpenAIChatCompletionsModel(client, 'tiny');
    const agent = new agents.Agent({ name: 'Helper', instructions: 'Help.', model });
    undo = instrumentOpenAIAgents();
    const untraced = new agents.Runner({ tracingDisabled: true });
    const { result } = await recorded(() => untraced.run(agent, 'go'), at(gateway));
    expect(result.finalOutput).toBe('trained');
    undo();
    undo = instrumentOpenAIAgents();
    const messages = [{ role: 'user' as const, content: 'go' }];
    await recorded(() => client.chat.completions.create({ model: 'tiny', messages }), at(gateway));
    expect(gateway.requests).toHaveLength(2);
  });

  test('a web socket model uses HTTP, even if agents are not traced', async () => {
    await using own = await ScriptedModel.start([]);
    await using gateway = await ScriptedModel.start([respondWith('trained')]);
    undo = instrumentOpenAIAgents();
    const model = new agents.OpenAIResponsesWSModel(clientOf(own), 'tiny');
    const agent = new agents.Agent({ name: 'Helper', instructions: 'Help.', model });
    const untraced = new agents.Runner({ tracingDisabled: true });
    const { result } = await recorded(() => untraced.run(agent, 'go'), at(gateway));
    expect(result.finalOutput).toBe('trained');
  });

  test('a model call within a tool is a child of the tool call', async () => {
    await using own = await ScriptedModel.start([]);
    await using gateway = await ScriptedModel.start([callTool('ask', {}), respondWith('inner'), respondWith('done')]);
    const client = clientOf(own);
    const ask = agents.tool({
      name: 'ask',
      description: 'Asks.',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
      strict: true,
      execute: async () => {
        const messages = [{ role: 'user' as const, content: 'inner?' }];
        const { choices } = await client.chat.completions.create({ model: 'tiny', messages });
        return choices[0]?.message.content ?? '';
      },
    });
    undo = instrumentOpenAIAgents();
    const agent = new agents.Agent({
      name: 'Helper',
      instructions: 'Help.',
      model: new agents.OpenAIChatCompletionsModel(client, 'tiny'),
      tools: [ask],
    });
    const { spans } = await recorded(() => agents.run(agent, 'go'), at(gateway));
    const inner = gateway.requests[1]?.headers;
    expect(inner?.['x-agl-parent-span-id']).toBe(ofKind(spans, 'tool-call')[0]?.spanId);
    expect(inner?.['x-agl-agent-name']).toBe('Helper');
  });

  test('a model call within withAgent in a tool belongs to that agent', async () => {
    await using gateway = await ScriptedModel.start([callTool('judge', {}), respondWith('inner'), respondWith('done')]);
    const client = clientOf(gateway);
    const judge = agents.tool({
      name: 'judge',
      description: 'Judges.',
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
      strict: true,
      execute: () =>
        withAgent('critic', async () => {
          const messages = [{ role: 'user' as const, content: 'Is it good?' }];
          const { choices } = await client.chat.completions.create({ model: 'tiny', messages });
          return choices[0]?.message.content ?? '';
        }),
    });
    undo = instrumentOpenAIAgents();
    const model = new agents.OpenAIChatCompletionsModel(client, 'tiny');
    const agent = new agents.Agent({ name: 'Helper', instructions: 'Help.', model, tools: [judge] });
    await recorded(() => agents.run(agent, 'go'), at(gateway));
    const names = gateway.requests.map(({ headers }) => headers['x-agl-agent-name']);
    expect(names).toEqual(['Helper', 'critic', 'Helper']);
  });
});

describe('api: chat_completions', () => {
  test('Responses API models use Chat Completions in rollouts with an endpoint only', async () => {
    await using own = await ScriptedModel.start(() => respondWith('own'));
    await using gateway = await ScriptedModel.start(() => respondWith('trained'));
    undo = instrumentOpenAIAgents({ api: 'chat_completions' });
    const model = new agents.OpenAIResponsesModel(clientOf(own), 'tiny');
    const agent = new agents.Agent({ name: 'Helper', instructions: 'Help.', model });
    const streamed = async (): Promise<unknown> => {
      const result = await agents.run(agent, 'go', { stream: true });
      await result.completed;
      return result.finalOutput;
    };
    const { result, spans } = await recorded(
      async () => [(await agents.run(agent, 'go')).finalOutput, await streamed()],
      at(gateway),
    );
    expect(result).toEqual(['trained', 'trained']);
    expect(gateway.requests.map(({ api }) => api)).toEqual(['chat-completions', 'chat-completions']);
    expect(ofKind(spans, 'model-call')).toHaveLength(2);
    await recorded(() => agents.run(agent, 'go'));
    await agents.run(agent, 'go');
    undo();
    await agents.run(agent, 'go');
    expect(own.requests.map(({ api }) => api)).toEqual(['responses', 'responses', 'responses']);
  });

  test('a web socket model uses HTTP in rollouts with an endpoint', async () => {
    await using own = await ScriptedModel.start([]);
    await using gateway = await ScriptedModel.start([respondWith('trained')]);
    undo = instrumentOpenAIAgents();
    const model = new agents.OpenAIResponsesWSModel(clientOf(own), 'tiny');
    const agent = new agents.Agent({ name: 'Helper', instructions: 'Help.', model });
    const { result } = await recorded(() => agents.run(agent, 'go'), at(gateway));
    expect(result.finalOutput).toBe('trained');
    expect(gateway.requests[0]?.api).toBe('responses');
  });
});

describe('modules', () => {
  test('modules may be the framework’s module, a client class and a client', async () => {
    await using own = await ScriptedModel.start([]);
    await using gateway = await ScriptedModel.start([respondWith('trained')]);
    const client = clientOf(own);
    undo = instrumentOpenAIAgents({ modules: [agents, OpenAI, client] });
    const agent = new agents.Agent({
      name: 'Helper',
      instructions: 'Help.',
      model: new agents.OpenAIChatCompletionsModel(client, 'tiny'),
    });
    const { tree } = await recorded(() => agents.run(agent, 'go'), at(gateway));
    expect(tree).toHaveLength(3);
  });

  test('an unsupported module causes a warning, and nothing is patched', async () => {
    const before = globalThis.fetch;
    const modules = [{ generateText: () => {} }];
    const [warning] = await warningsDuring(() => instrumentOpenAIAgents({ modules }));
    expect(warning).toMatch(/UNSUPPORTED_FRAMEWORK.*generateText.*Install/);
    expect(globalThis.fetch).toBe(before);
  });
});
