import { genAiAttributes, modelCallAttributes } from '@agentlightning/core/internal';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import {
  Agent,
  type AgentOutputType,
  type InputGuardrail,
  type MCPServer,
  type Model,
  OpenAIChatCompletionsModel,
  Runner,
  RunState,
  run,
  tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { instrumentOpenAIAgents } from '../src/index.ts';
import { ofKind, recorded } from './recorded-run.ts';

const names = {
  traceId: 'openai_agents.trace_id',
  groupId: 'openai_agents.group_id',
  workflow: 'openai_agents.workflow',
};

let undo = (): void => {};
beforeEach(() => {
  undo = instrumentOpenAIAgents();
});
afterEach(() => undo());

function modelOf({ baseUrl }: ScriptedModel): Model {
  return new OpenAIChatCompletionsModel(new OpenAI({ baseURL: baseUrl, apiKey: 'none', maxRetries: 0 }), 'tiny');
}

const look = tool({
  name: 'look',
  description: 'Looks something up.',
  parameters: z.object({ key: z.string() }),
  execute: ({ key }) => `value of ${key}`,
});

describe('the tree of a run', () => {
  test('a hand-off is a child of its turn, and the next agent is a sibling of the first', async () => {
    await using server = await ScriptedModel.start([callTool('transfer_to_Booker', {}), respondWith('booked')]);
    const model = modelOf(server);
    const booker = new Agent({ name: 'Booker', instructions: 'Book.', model });
    const triage = Agent.create({ name: 'Triage', instructions: 'Route.', model, handoffs: [booker] });
    const { spans, tree, abandoned } = await recorded(() => run(triage, 'Book me a seat.'));
    expect(tree).toEqual([
      'invoke_agent Triage',
      '  turn 1',
      '    chat tiny',
      '    hand-off Booker',
      'invoke_agent Booker',
      '  turn 2',
      '    chat tiny',
    ]);
    expect(abandoned).toBe(0);
    const [handOff] = ofKind(spans, 'hand-off');
    expect(handOff?.attributes).toMatchObject({
      'openai_agents.handoff.from': 'Triage',
      'openai_agents.handoff.to': 'Booker',
      [genAiAttributes.agentName]: 'Triage',
    });
    const paths = ofKind(spans, 'model-call').map(({ attributes }) => attributes[agentLightningAttributes.agentPath]);
    expect(paths).toEqual(['Triage', 'Booker']);
  });

  test('without task and turn spans, calls are children of their agent', async () => {
    await using server = await ScriptedModel.start([callTool('look', { key: 'k' }), respondWith('done')]);
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server), tools: [look] });
    const runner = new Runner({ tracing: { includeTaskAndTurnSpans: false } });
    const { tree } = await recorded(() => runner.run(agent, 'go', { tracing: { includeTaskAndTurnSpans: false } }));
    expect(tree).toEqual(['invoke_agent Helper', '  chat tiny', '  execute_tool look', '  chat tiny']);
  });

  test('agents have the attributes of their run', async () => {
    await using server = await ScriptedModel.start([respondWith('done')]);
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server) });
    const runner = new Runner({ workflowName: 'Support', groupId: 'thread-7', traceId: 'trace_mine' });
    const { spans } = await recorded(() => runner.run(agent, 'go'));
    expect(ofKind(spans, 'agent')[0]?.attributes).toMatchObject({
      [names.traceId]: 'trace_mine',
      [names.groupId]: 'thread-7',
      [names.workflow]: 'Support',
    });
  });

  test('a triggered guardrail is recorded and ends the run', async () => {
    await using server = await ScriptedModel.start(() => respondWith('hello'));
    const guardrail: InputGuardrail = {
      name: 'no secrets',
      runInParallel: false,
      execute: () => Promise.resolve({ tripwireTriggered: true, outputInfo: {} }),
    };
    const agent = new Agent({
      name: 'Helper',
      instructions: 'Help.',
      model: modelOf(server),
      inputGuardrails: [guardrail],
    });
    const { spans, result, abandoned } = await recorded(() =>
      run(agent, 'secret').catch((error: unknown) => String(error)),
    );
    expect(String(result)).toContain('guardrail');
    const [step] = ofKind(spans, 'guardrail');
    expect(step?.name).toBe('guardrail no secrets');
    expect(step?.attributes['openai_agents.guardrail.triggered']).toBe(true);
    expect(abandoned).toBe(0);
  });

  test('listing the tools of an MCP server is a separate step, and its tools are called like others', async () => {
    await using server = await ScriptedModel.start([callTool('ping', {}), respondWith('done')]);
    const mcp: MCPServer = {
      name: 'local',
      cacheToolsList: false,
      connect: () => Promise.resolve(),
      close: () => Promise.resolve(),
      listTools: () =>
        Promise.resolve([
          {
            name: 'ping',
            description: 'Pings.',
            inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
          },
        ]),
      callTool: () => Promise.resolve([{ type: 'text', text: 'pong' }]),
      invalidateToolsCache: () => Promise.resolve(),
    };
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server), mcpServers: [mcp] });
    const { tree, spans } = await recorded(() => run(agent, 'go'));
    expect(tree).toContain('    execute_tool ping');
    expect(tree.filter((line) => line.trim() === 'list tools of local').length).toBeGreaterThan(0);
    expect(String(ofKind(spans, 'tool-call')[0]?.attributes[genAiAttributes.toolCallResult])).toContain('pong');
  });

  test('equal tool calls have different ids, in any order of completion', async () => {
    const toolCalls = ['first', 'second'].map((id) => ({ id, name: 'wait', arguments: { key: 'k' } }));
    await using server = await ScriptedModel.start([respondWith('', { toolCalls }), respondWith('done')]);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const wait = tool({
      name: 'wait',
      description: 'Waits.',
      parameters: z.object({ key: z.string() }),
      execute: async (_, __, details) => {
        const id = details?.toolCall?.callId;
        if (id === 'first') await released;
        else setImmediate(release);
        return `result of ${id}`;
      },
    });
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server), tools: [wait] });
    const { spans } = await recorded(() => run(agent, 'go'));
    const results = ofKind(spans, 'tool-call').map(({ attributes }) => [
      attributes[genAiAttributes.toolCallId],
      attributes[genAiAttributes.toolCallResult],
    ]);
    expect(results).toEqual([
      ['second', 'result of second'],
      ['first', 'result of first'],
    ]);
  });

  test('an aborted agent is not failed', async () => {
    await using server = await ScriptedModel.start(() => respondWith('never', { until: new Promise(() => {}) }));
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server) });
    const controller = new AbortController();
    const { spans } = await recorded(async () => {
      const running = run(agent, 'go', { signal: controller.signal });
      while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await expect(running).rejects.toThrow('aborted');
    });
    expect(spans.map(({ status }) => status.code)).toEqual(['UNSET', 'UNSET', 'UNSET']);
    for (const { attributes } of spans) expect(attributes[modelCallAttributes.isPartial]).toBe(true);
  });

  test('an agent stopped by the end of its rollout is not failed', async () => {
    await using server = await ScriptedModel.start(() => respondWith('never', { until: new Promise(() => {}) }));
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server) });
    const controller = new AbortController();
    const endpoint = { baseUrl: server.baseUrl, model: 'policy', apiKey: null };
    const { spans } = await recorded(
      async () => {
        const running = run(agent, 'go');
        while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
        controller.abort();
        await expect(running).rejects.toThrow();
      },
      { endpoint, signal: controller.signal },
    );
    expect(spans.map(({ status }) => status.code)).toEqual(['UNSET', 'UNSET', 'UNSET']);
  });

  test('a stream in progress at the end of the rollout is partial', async () => {
    await using server = await ScriptedModel.start([
      respondWith('one two three', { pauseAfterChunks: 3, until: new Promise(() => {}) }),
    ]);
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server) });
    const controller = new AbortController();
    const { spans, result } = await recorded(async () => {
      const streamed = await run(agent, 'go', { stream: true, signal: controller.signal });
      await streamed.toTextStream()[Symbol.asyncIterator]().next();
      return streamed;
    });
    controller.abort();
    await result.completed.catch(() => {});
    const [call] = ofKind(spans, 'model-call');
    expect(call?.attributes[modelCallAttributes.isPartial]).toBe(true);
    expect(String(call?.attributes[genAiAttributes.outputMessages])).toContain('one');
  });

  test('an HTTP error is recorded on the model call, its turn and its agent', async () => {
    await using server = await ScriptedModel.start(() => ({ type: 'failure', status: 400, message: 'too long' }));
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server) });
    const { spans, tree } = await recorded(() => run(agent, 'go').catch(() => null));
    expect(tree).toEqual(['invoke_agent Helper !', '  turn 1 !', '    chat tiny !']);
    expect(JSON.stringify(ofKind(spans, 'model-call')[0]?.status)).toContain('too long');
  });
});

describe('a run interrupted for approval', () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ sum: z.number() }),
    needsApproval: true,
    execute: ({ sum }) => `paid ${sum}`,
  });
  const payer = (server: ScriptedModel): Agent<undefined, AgentOutputType> =>
    new Agent<undefined, AgentOutputType>({
      name: 'Payer',
      instructions: 'Pay.',
      model: modelOf(server),
      tools: [pay],
    });

  async function resume(
    agent: Agent<undefined, AgentOutputType>,
    state: RunState<undefined, Agent<undefined, AgentOutputType>>,
  ): Promise<unknown> {
    for (const interruption of state.getInterruptions()) state.approve(interruption);
    return (await run(agent, state)).finalOutput;
  }

  test.for(['from memory', 'from its serialised state'])(
    'resumes %s in the same framework trace, as a new agent step',
    async (how) => {
      await using server = await ScriptedModel.start([callTool('pay', { sum: 3 }), respondWith('done')]);
      const agent = payer(server);
      const { tree, spans, abandoned, result } = await recorded(async () => {
        const first = await run(agent, 'go');
        if (how === 'from memory') return resume(agent, first.state);
        return resume(agent, await RunState.fromString(agent, first.state.toString()));
      });
      expect(result).toBe('done');
      expect(tree).toEqual([
        'invoke_agent Payer',
        '  turn 1',
        '    chat tiny',
        'invoke_agent Payer',
        '  turn 1',
        '    execute_tool pay',
        '  turn 2',
        '    chat tiny',
      ]);
      const traceIds = ofKind(spans, 'agent').map(({ attributes }) => attributes[names.traceId]);
      expect(new Set(traceIds).size).toBe(1);
      expect(abandoned).toBe(0);
    },
  );
});

describe('sensitive data', () => {
  test('when disabled for traces, is omitted from spans, while ids and usage are recorded', async () => {
    await using server = await ScriptedModel.start([
      callTool('look', { key: 'my secret' }),
      respondWith('the secret is 7'),
    ]);
    const agent = new Agent({ name: 'Helper', instructions: 'Help.', model: modelOf(server), tools: [look] });
    const runner = new Runner({ traceIncludeSensitiveData: false });
    const { spans, tree } = await recorded(() => runner.run(agent, 'What is my secret?'));
    expect(tree).toHaveLength(6);
    expect(JSON.stringify(spans)).not.toContain('secret');
    const calls = ofKind(spans, 'model-call');
    expect(calls.map(({ attributes }) => attributes[genAiAttributes.responseId])).toEqual(['chatcmpl-0', 'chatcmpl-1']);
    for (const { attributes } of calls) expect(attributes[genAiAttributes.usageOutputTokens]).toBeGreaterThan(0);
  });
});
