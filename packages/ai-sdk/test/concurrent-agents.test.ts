import { callTool, respondWith, ScriptedModel, type ScriptedRequest } from '@agentlightning/core/testing';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAICompatible as createOpenAICompatible6 } from '@ai-sdk/openai-compatible-v2';
import * as ai7 from 'ai';
import * as ai6 from 'ai-v6';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { instrumentAISDK } from '../src/index.ts';
import { traced } from './traced.ts';

let undo: () => void = () => {};

beforeEach(() => {
  undo = instrumentAISDK({ agentName: ({ functionId, instructions }) => functionId ?? instructions });
});

afterEach(() => undo());

const elsewhere = { name: 'none', baseURL: 'http://127.0.0.1:1/v1', includeUsage: true };
const tiny6 = createOpenAICompatible6(elsewhere);
const agents = Array.from({ length: 24 }, (_, index) => `agent ${index % 3}`);

/** The agent of each request, in request order. */
function agentsOf(server: ScriptedModel): readonly unknown[] {
  return server.requests.map(({ headers }) => headers['x-agl-agent-name']);
}

/** Checks that every request has the agent that its instructions name. */
function expectOwnAgents(server: ScriptedModel, count: number): void {
  expect(server.requests).toHaveLength(count);
  expect(agentsOf(server)).toEqual(server.requests.map(({ messages }) => messages[0]?.content));
}

/** A scripted model that requests a tool first. */
const toolThenAnswer = ({ messages }: ScriptedRequest): ReturnType<typeof respondWith> =>
  messages.at(-1)?.role === 'tool' ? respondWith('done') : callTool('look_up', {});

describe('concurrent agents of version 6 in one rollout', () => {
  const tools = { look_up: ai6.tool({ inputSchema: z.object({}), execute: () => 'found' }) };
  const stopWhen = ai6.stepCountIs(3);

  test('keep their names in every step', async () => {
    await using server = await ScriptedModel.start(toolThenAnswer);
    const call = (system: string): PromiseLike<unknown> =>
      ai6.generateText({ model: tiny6('tiny'), system, prompt: 'go', tools, stopWhen });
    await traced(server, () => Promise.all(agents.map(call)));
    expectOwnAgents(server, 2 * agents.length);
  });

  test('keep their names in every step of streams', async () => {
    await using server = await ScriptedModel.start(toolThenAnswer);
    const call = async (system: string): Promise<string> =>
      await ai6.streamText({ model: tiny6('tiny'), system, prompt: 'go', tools, stopWhen }).text;
    await traced(server, () => Promise.all(agents.map(call)));
    expectOwnAgents(server, 2 * agents.length);
  });

  test('keep their names in retries', async () => {
    const seen = new Set<string>();
    await using server = await ScriptedModel.start(({ messages }) => {
      const key = JSON.stringify(messages);
      if (seen.has(key)) return respondWith('hi');
      seen.add(key);
      return { type: 'failure', status: 503, message: 'busy' };
    });
    const call = (system: string): PromiseLike<unknown> =>
      ai6.generateText({ model: tiny6('tiny'), system, prompt: 'go', maxRetries: 1 });
    await traced(server, () => Promise.all(['poet', 'critic'].map(call)));
    expectOwnAgents(server, 4);
  });

  test('do not change the context of their caller', async () => {
    await using server = await ScriptedModel.start(() => respondWith('hi'));
    await traced(server, async () => {
      const { text } = ai6.streamText({ model: tiny6('tiny'), system: 'poet', prompt: 'go' });
      await text;
      await ai6.generateText({ model: tiny6('tiny'), system: 'critic', prompt: 'go' });
      await plainCall();
    });
    expect(agentsOf(server)).toEqual(['poet', 'critic', undefined]);
  });
});

describe('operations of version 6', () => {
  test('that failed receive no later calls of any client', async () => {
    await using server = await ScriptedModel.start(({ body }) =>
      body.model === 'broken' ? { type: 'failure', status: 400, message: 'no' } : respondWith('hi'),
    );
    await traced(server, async () => {
      await ai6.generateText({ model: tiny6('broken'), system: 'poet', prompt: 'go' }).catch(() => null);
      await plainCall();
      await ai6.generateText({ model: tiny6('tiny'), system: 'critic', prompt: 'go' });
    });
    expect(agentsOf(server)).toEqual(['poet', undefined, 'critic']);
  });

  test('whose stream was cancelled receive no later calls', async () => {
    await using server = await ScriptedModel.start(() => respondWith('one two three'));
    await traced(server, async () => {
      const { textStream } = ai6.streamText({ model: tiny6('tiny'), system: 'poet', prompt: 'go' });
      for await (const text of textStream) if (text !== '') break;
      await plainCall();
      await ai6.generateText({ model: tiny6('tiny'), system: 'critic', prompt: 'go' });
    });
    expect(agentsOf(server)).toEqual(['poet', undefined, 'critic']);
  });
});

describe('operations of version 6 with a user-defined step callback', () => {
  const call = (system: string): PromiseLike<unknown> =>
    ai6.generateText({ model: tiny6('tiny'), system, prompt: 'go', experimental_onStepStart: () => {} });

  test('are recorded one after the other, and concurrently for the same agent', async () => {
    await using server = await ScriptedModel.start(() => respondWith('hi'));
    await traced(server, async () => {
      await call('critic');
      await Promise.all(['poet', 'poet'].map(call));
    });
    expect(agentsOf(server)).toEqual(['critic', 'poet', 'poet']);
  });

  test('fail with the remedy if different agents cannot be distinguished', async () => {
    await using server = await ScriptedModel.start(() => respondWith('hi'));
    const { result } = await traced(server, () => Promise.allSettled(['poet', 'critic'].map(call)));
    const reasons = result.map((settled) => (settled.status === 'rejected' ? settled.reason : null));
    expect(reasons[0]).toMatchObject({
      code: 'UNSUPPORTED_FRAMEWORK',
      message: expect.stringContaining('poet, critic'),
      remedy: expect.stringContaining('traceModel'),
    });
  });
});

test('generateObject of version 7 keeps the names of concurrent agents', async () => {
  await using server = await ScriptedModel.start(() => respondWith('{"word":"hi"}'));
  const schema = z.object({ word: z.string() });
  const model = createOpenAICompatible({ ...elsewhere, supportsStructuredOutputs: true })('tiny');
  const call = (instructions: string): PromiseLike<unknown> =>
    ai7.generateObject({ model, instructions, prompt: 'go', schema });
  await traced(server, () => Promise.all(agents.map(call)));
  expectOwnAgents(server, agents.length);
});

/** A model call of a client that does not use the AI SDK. */
async function plainCall(): Promise<void> {
  const messages = [{ role: 'user', content: 'judge this' }];
  const body = JSON.stringify({ model: 'tiny', messages });
  const response = await fetch('http://127.0.0.1:1/v1/chat/completions', { method: 'POST', body });
  await response.text();
}
