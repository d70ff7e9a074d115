import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
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
  // The framework's default under NODE_ENV=test.
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

/** A trace processor of the application. */
function createProcessor(): agents.TracingProcessor & { readonly events: string[] } {
  const events: string[] = [];
  const record = (event: string): Promise<void> => Promise.resolve(void events.push(event));
  return {
    events,
    onTraceStart: () => record('trace'),
    onTraceEnd: () => record('/trace'),
    onSpanStart: ({ spanData }) => record(spanData.type),
    onSpanEnd: ({ spanData }) => record(`/${spanData.type}`),
    shutdown: () => Promise.resolve(),
    forceFlush: () => Promise.resolve(),
  };
}

const wholeRun = ['trace', 'task', 'agent', 'turn', 'generation', '/generation', '/turn', '/agent', '/task', '/trace'];

describe('the application’s own tracing', () => {
  test('its processors receive all events, set before or after, in rollouts and outside', async () => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
    agents.setTracingDisabled(false);
    const [first, second] = [createProcessor(), createProcessor()];
    agents.setTraceProcessors([first]);
    instrument();
    const agent = await helper(server);
    expect((await recorded(() => agents.run(agent, 'go'))).tree).toEqual(helperTree);
    expect(first.events.toSorted()).toEqual(wholeRun.toSorted());
    agents.setTraceProcessors([second]);
    expect((await recorded(() => agents.run(agent, 'go'))).tree).toEqual(helperTree);
    await agents.run(agent, 'go');
    expect(second.events.toSorted()).toEqual([...wholeRun, ...wholeRun].toSorted());
  });

  test('when disabled, its processors receive no events, and rollouts are still recorded', async () => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
    const processor = createProcessor();
    agents.setTraceProcessors([processor]);
    instrument();
    const agent = await helper(server);
    agents.setTracingDisabled(false);
    agents.setTracingDisabled(true);
    expect((await recorded(() => agents.run(agent, 'go'))).tree).toEqual(helperTree);
    await agents.run(agent, 'go');
    expect(processor.events).toEqual([]);
  });

  test('loading another copy of the framework, which replaces the processors, loses no span', async () => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
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
  /** A server that accepts traces like OpenAI's, and the bodies it received. */
  async function startTraceServer(): Promise<
    AsyncDisposable & { readonly endpoint: string; readonly bodies: string[] }
  > {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      bodies.push(Buffer.concat(parts).toString());
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces/traceServer`;
    const close = (): Promise<void> => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    };
    return { endpoint, bodies, [Symbol.asyncDispose]: close };
  }

  test.for([false, true])('rollouts are uploaded only with the option upload: %s', async (upload) => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
    await using traceServer = await startTraceServer();
    agents.setTracingDisabled(false);
    const exporter = new agents.OpenAITracingExporter({ apiKey: 'none', endpoint: traceServer.endpoint });
    agents.setTraceProcessors([new agents.BatchTraceProcessor(exporter)]);
    instrument({ upload });
    const agent = await helper(server);
    await recorded(() => agents.run(agent, 'said in a rollout'));
    await agents.run(agent, 'said in production');
    await agents.getGlobalTraceProvider().forceFlush();
    expect(traceServer.bodies.join().includes('said in production')).toBe(true);
    expect(traceServer.bodies.join().includes('said in a rollout')).toBe(upload);
    const traces = traceServer.bodies.join().match(/"object":"trace"/g) ?? [];
    expect(traces).toHaveLength(upload ? 2 : 1);
  });

  test('the undo also removes pending uploads', async () => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
    await using traceServer = await startTraceServer();
    agents.setTracingDisabled(false);
    const exporter = new agents.OpenAITracingExporter({ apiKey: 'none', endpoint: traceServer.endpoint });
    agents.setTraceProcessors([new agents.BatchTraceProcessor(exporter)]);
    const undo = instrumentOpenAIAgents();
    const agent = await helper(server);
    const { result } = await recorded(() => agents.run(agent, 'said in a rollout'));
    undo();
    await agents.getGlobalTraceProvider().forceFlush();
    expect(traceServer.bodies.join()).not.toContain('said in a rollout');
    expect(JSON.parse(result.state.toString()).trace.id).toMatch(/^trace_/);
  });

  test('nothing is uploaded under NODE_ENV=test', async () => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
    await using traceServer = await startTraceServer();
    const exporter = new agents.OpenAITracingExporter({ apiKey: 'none', endpoint: traceServer.endpoint });
    agents.setTraceProcessors([new agents.BatchTraceProcessor(exporter)]);
    instrument({ upload: true });
    const agent = await helper(server);
    await recorded(() => agents.run(agent, 'said in a rollout'));
    await agents.run(agent, 'said in production');
    await agents.getGlobalTraceProvider().forceFlush();
    expect(traceServer.bodies).toEqual([]);
  });
});

describe('runs with tracing disabled', () => {
  test('have no span, and their agent runs', async () => {
    await using server = await ScriptedModel.start(() => respondWith('done'));
    instrument();
    const agent = await helper(server);
    const runner = new agents.Runner({ tracingDisabled: true });
    const { result, tree } = await recorded(() => runner.run(agent, 'go'));
    expect([result.finalOutput, tree]).toEqual(['done', []]);
  });
});
