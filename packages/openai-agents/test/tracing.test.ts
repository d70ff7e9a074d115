import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { answer, ScriptedModel } from '@agentlightning/core/testing';
import * as agents from '@openai/agents';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { instrumentOpenAIAgents } from '../src/index.ts';
import { recorded } from './recorded-run.ts';

const helperTree = ['invoke_agent Helper', '  turn 1', '    chat tiny'];

let undos: (() => void)[] = [];

function instrument(...options: Parameters<typeof instrumentOpenAIAgents>): void {
  undos.push(instrumentOpenAIAgents(...options));
}

afterEach(() => {
  for (const undo of undos) undo();
  undos = [];
  agents.setTraceProcessors([]);
  // As the framework has it under NODE_ENV=test.
  agents.setTracingDisabled(true);
});

async function helper(server: ScriptedModel): Promise<agents.Agent> {
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: 'none', maxRetries: 0 });
  return new agents.Agent({
    name: 'Helper',
    instructions: 'Help.',
    model: new agents.OpenAIChatCompletionsModel(client, 'tiny'),
  });
}

/** A processor of the application's own. */
function aProcessor(): agents.TracingProcessor & { readonly heard: string[] } {
  const heard: string[] = [];
  const note = (what: string): Promise<void> => Promise.resolve(void heard.push(what));
  return {
    heard,
    onTraceStart: () => note('trace'),
    onTraceEnd: () => note('/trace'),
    onSpanStart: ({ spanData }) => note(spanData.type),
    onSpanEnd: ({ spanData }) => note(`/${spanData.type}`),
    shutdown: () => Promise.resolve(),
    forceFlush: () => Promise.resolve(),
  };
}

const wholeRun = ['trace', 'task', 'agent', 'turn', 'generation', '/generation', '/turn', '/agent', '/task', '/trace'];

describe('the application’s own tracing', () => {
  test('its processors hear of everything as ever, set before or after, in rollouts and outside', async () => {
    await using server = await ScriptedModel.start(() => answer('done'));
    agents.setTracingDisabled(false);
    const [first, second] = [aProcessor(), aProcessor()];
    agents.setTraceProcessors([first]);
    instrument();
    const agent = await helper(server);
    expect((await recorded(() => agents.run(agent, 'go'))).tree).toEqual(helperTree);
    expect(first.heard.toSorted()).toEqual(wholeRun.toSorted());
    agents.setTraceProcessors([second]);
    expect((await recorded(() => agents.run(agent, 'go'))).tree).toEqual(helperTree);
    await agents.run(agent, 'go');
    expect(second.heard.toSorted()).toEqual([...wholeRun, ...wholeRun].toSorted());
  });

  test('switched off, it hears of nothing, and rollouts are recorded all the same', async () => {
    await using server = await ScriptedModel.start(() => answer('done'));
    const processor = aProcessor();
    agents.setTraceProcessors([processor]);
    instrument();
    const agent = await helper(server);
    agents.setTracingDisabled(false);
    agents.setTracingDisabled(true);
    expect((await recorded(() => agents.run(agent, 'go'))).tree).toEqual(helperTree);
    await agents.run(agent, 'go');
    expect(processor.heard).toEqual([]);
  });

  test('loading another copy of the framework, which sets the processors anew, loses no span', async () => {
    await using server = await ScriptedModel.start(() => answer('done'));
    instrument();
    const copy = createRequire(import.meta.url)('@openai/agents') as typeof agents;
    expect(copy.Agent).not.toBe(agents.Agent);
    expect((await recorded(async () => agents.run(await helper(server), 'go'))).tree).toEqual(helperTree);
    const OpenAICopy = createRequire(import.meta.url)('openai') as typeof OpenAI;
    const client = new OpenAICopy({ baseURL: server.baseUrl, apiKey: 'none' });
    const agent = new copy.Agent({
      name: 'Helper',
      instructions: 'Help.',
      model: new copy.OpenAIChatCompletionsModel(client, 'tiny'),
    });
    expect((await recorded(() => copy.run(agent, 'go'))).tree).toEqual(helperTree);
  });
});

describe('uploading to OpenAI', () => {
  /** A server that takes traces as OpenAI does, and the texts of what it was sent. */
  async function anIngest(): Promise<AsyncDisposable & { readonly endpoint: string; readonly bodies: string[] }> {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      bodies.push(Buffer.concat(parts).toString());
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces/ingest`;
    const close = (): Promise<void> => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    };
    return { endpoint, bodies, [Symbol.asyncDispose]: close };
  }

  test.for([false, true])('what a rollout’s agent says is uploaded only when asked for: %s', async (upload) => {
    await using server = await ScriptedModel.start(() => answer('done'));
    await using ingest = await anIngest();
    agents.setTracingDisabled(false);
    const exporter = new agents.OpenAITracingExporter({ apiKey: 'none', endpoint: ingest.endpoint });
    agents.setTraceProcessors([new agents.BatchTraceProcessor(exporter)]);
    instrument({ upload });
    const agent = await helper(server);
    await recorded(() => agents.run(agent, 'said in a rollout'));
    await agents.run(agent, 'said in production');
    await agents.getGlobalTraceProvider().forceFlush();
    expect(ingest.bodies.join().includes('said in production')).toBe(true);
    expect(ingest.bodies.join().includes('said in a rollout')).toBe(upload);
    const traces = ingest.bodies.join().match(/"object":"trace"/g) ?? [];
    expect(traces).toHaveLength(upload ? 2 : 1);
  });

  test('what still waits to be uploaded is kept back by the undo, too', async () => {
    await using server = await ScriptedModel.start(() => answer('done'));
    await using ingest = await anIngest();
    agents.setTracingDisabled(false);
    const exporter = new agents.OpenAITracingExporter({ apiKey: 'none', endpoint: ingest.endpoint });
    agents.setTraceProcessors([new agents.BatchTraceProcessor(exporter)]);
    const undo = instrumentOpenAIAgents();
    const agent = await helper(server);
    const { result } = await recorded(() => agents.run(agent, 'said in a rollout'));
    undo();
    await agents.getGlobalTraceProvider().forceFlush();
    expect(ingest.bodies.join()).not.toContain('said in a rollout');
    expect(JSON.parse(result.state.toString()).trace.id).toMatch(/^trace_/);
  });

  test('under NODE_ENV=test nothing is uploaded at all', async () => {
    await using server = await ScriptedModel.start(() => answer('done'));
    await using ingest = await anIngest();
    const exporter = new agents.OpenAITracingExporter({ apiKey: 'none', endpoint: ingest.endpoint });
    agents.setTraceProcessors([new agents.BatchTraceProcessor(exporter)]);
    instrument({ upload: true });
    const agent = await helper(server);
    await recorded(() => agents.run(agent, 'said in a rollout'));
    await agents.run(agent, 'said in production');
    await agents.getGlobalTraceProvider().forceFlush();
    expect(ingest.bodies).toEqual([]);
  });
});

describe('runs that the application keeps out of traces', () => {
  test('leave no span, and their agent runs', async () => {
    await using server = await ScriptedModel.start(() => answer('done'));
    instrument();
    const agent = await helper(server);
    const runner = new agents.Runner({ tracingDisabled: true });
    const { result, tree } = await recorded(() => runner.run(agent, 'go'));
    expect([result.finalOutput, tree]).toEqual(['done', []]);
  });
});
