// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withRollout } from '@agentlightning/core';
import { aRolloutContext, callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonSuites } from '../../../../tools/describe-with-python.ts';
import { interopEnvironments } from '../../../../tools/python-environment.ts';
import { describeEnvironmentContract } from '../../src/contracts/index.ts';
import { openEnvironment, playEnvironment } from '../../src/index.ts';

const describeWithOpenEnv = await pythonSuites(interopEnvironments['openenv 0.10.0']);

/** The addresses of the servers, by environment. */
type Addresses = Readonly<Record<'guess' | 'single' | 'move' | 'tools', string>>;

interface Servers extends AsyncDisposable {
  readonly urls: Addresses;
}

async function startServers(python: string): Promise<Servers> {
  const child = spawn(python, [new URL('servers.py', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [output]: Buffer[] = await once(child.stdout, 'data');
  return {
    urls: JSON.parse(String(output)),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

const context = { signal: new AbortController().signal, seed: 7 };
const say = (text: string) => ({ type: 'message', text }) as const;
const call = (name: string, args = {}) => ({ type: 'tool-call', name, arguments: args }) as const;

describeWithOpenEnv('servers of OpenEnv', (python) => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers(python);
  }, 60_000);
  afterAll(() => servers[Symbol.asyncDispose]());

  describe('by messages', () => {
    describeEnvironmentContract({
      name: 'OpenEnv',
      create: () => openEnvironment({ url: servers.urls.guess }),
      task: {},
      change: say('5'),
      look: say('which?'),
      invalid: call('guess', { text: '5' }),
    });

    test('a model plays with messages, and the server rewards it', async () => {
      await using model = await ScriptedModel.start([respondWith('3'), respondWith('4')]);
      const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: null };
      const agent = playEnvironment(openEnvironment({ url: servers.urls.guess }));
      expect(await withRollout(aRolloutContext({ endpoint }), () => agent({ seed: 4, limit: 5 }))).toBe(1);
      expect(model.requests.map(({ messages, body }) => [messages.at(-1)?.['content'], body['tools']])).toEqual([
        ['Guess a digit, 5 times.', undefined],
        ['wrong', undefined],
      ]);
    });

    test('an error of the environment is not a reward', async () => {
      const environment = openEnvironment({ url: servers.urls.guess }).create();
      await environment.reset({}, context);
      await expect(environment.step(say('crash'), context)).rejects.toThrow(
        /\[ENVIRONMENT_FAILED\].*EXECUTION_ERROR: the dice are lost/,
      );
      await environment.close();
    });

    test('a server that does not respond is left at the time limit', async () => {
      const environment = openEnvironment({ url: servers.urls.guess }).create();
      await environment.reset({}, context);
      const signal = AbortSignal.timeout(50);
      await expect(environment.step(say('hang'), { signal })).rejects.toThrow(/timeout/);
      await environment.close();
    });

    test('a full server is a failure with a remedy, and serves again afterwards', async () => {
      const factory = openEnvironment({ url: servers.urls.single });
      const one = factory.create();
      await one.reset({}, context);
      const refused = factory.create().reset({}, context);
      await expect(refused).rejects.toThrow(
        expect.objectContaining({ remedy: expect.stringContaining('max_concurrent_envs') }),
      );
      await one.close();
      const next = factory.create();
      expect(await next.reset({}, context)).toBe('Guess a digit, 3 times.');
      await next.close();
    });

    test('a server that exits is a failure of the environment', async () => {
      await using own = await startServers(python);
      const factory = openEnvironment({ url: own.urls.guess });
      const environment = factory.create();
      await environment.reset({}, context);
      await expect(environment.step(say('exit'), context)).rejects.toThrow(
        /\[UNREACHABLE\] OpenEnv server: the connection was lost/,
      );
      await environment.close();
      await expect(factory.create().reset({}, context)).rejects.toThrow(/\[UNREACHABLE\] OpenEnv server: .+/);
      const fresh = openEnvironment({ url: own.urls.guess }).create();
      await expect(fresh.reset({}, context)).rejects.toThrow(/\[ENVIRONMENT_FAILED\].*ECONNREFUSED/);
    });
  });

  test('actions with several fields are a tool, and wrong ones are observations', async () => {
    const environment = openEnvironment({ url: servers.urls.move }).create();
    await environment.reset({}, context);
    expect(environment.tools()).toMatchObject([
      { name: 'act', description: 'Moves on a grid.', parameters: { required: ['x', 'y'] } },
    ]);
    const wrong = await environment.step(call('act', { x: 'far' }), context);
    expect(wrong).toMatchObject({ reward: null, done: false });
    expect(wrong.observation).toMatch(/^The action is not valid: .*Field required/);
    const half = { observation: '{"x":2,"y":0}', reward: 0, done: false };
    expect(await environment.step(call('act', { x: 2, y: 0 }), context)).toEqual(half);
    const end = { observation: '{"x":2,"y":2}', reward: 1, done: true };
    expect(await environment.step(call('act', { x: 0, y: 2 }), context)).toEqual(end);
    await environment.close();
  });

  test('a model calls the tools of an MCP environment', async () => {
    await using model = await ScriptedModel.start([callTool('add', { a: 2, b: 3 }), respondWith('5')]);
    const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: null };
    const environment = openEnvironment<{ readonly question: string }>({
      url: servers.urls.tools,
      prompt: ({ question }) => question,
    });
    const agent = playEnvironment(environment);
    const reward = await withRollout(aRolloutContext({ endpoint }), () => agent({ question: '2 and 3?' }));
    expect(model.requests[0]?.body).toMatchObject({
      messages: [{ role: 'user', content: '2 and 3?' }],
      tools: [{ function: { name: 'add', description: 'Adds two numbers.', parameters: { required: ['a', 'b'] } } }],
    });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '5' });
    expect(reward).toBeNull();
  });
});
