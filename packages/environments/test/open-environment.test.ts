import { withRollout } from '@agentlightning/core';
import { aRolloutContext, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { openEnvironment, playEnvironment } from '../src/index.ts';
import { failure, type OpenEnvScript, observed, startScriptedOpenEnv } from './scripted-openenv.ts';

const context = { signal: new AbortController().signal, seed: 7 };
const say = (text: string) => ({ type: 'message', text }) as const;
const call = (name: string, args = {}) => ({ type: 'tool-call', name, arguments: args }) as const;

/** A session of a server with a script, in which an action is taken. */
async function acted(script: OpenEnvScript, action: Parameters<typeof say>[0] | ReturnType<typeof call> = 'hello') {
  await using server = await startScriptedOpenEnv(script);
  const environment = openEnvironment({ url: server.url }).create();
  try {
    await environment.reset({}, context);
    return await environment.step(typeof action === 'string' ? say(action) : action, context);
  } finally {
    await environment.close();
  }
}

test.each(['', 'localhost:8000', 'ftp://example.com'])('the address %o is refused', (url) => {
  expect(() => openEnvironment({ url })).toThrow(/\[CONFIG\] `url` of `openEnvironment`/);
});

test('a model plays by messages, and the server rewards it', async () => {
  await using server = await startScriptedOpenEnv();
  await using model = await ScriptedModel.start([respondWith('hello')]);
  const endpoint = { baseUrl: model.baseUrl, model: 'any', apiKey: null };
  const agent = playEnvironment(openEnvironment({ url: server.url, headers: { authorization: 'Bearer key' } }));
  expect(await withRollout(aRolloutContext({ endpoint }), () => agent({ seed: 4, level: 2 }))).toBe(1);
  expect(server.messages).toEqual([
    { type: 'reset', data: { seed: 4, level: 2 } },
    { type: 'step', data: { text: 'hello' } },
    { type: 'close' },
  ]);
  expect(server.headers()['authorization']).toBe('Bearer key');
});

test('actions with several fields are a tool, and those that the server refuses are observations', async () => {
  const schema = {
    type: 'object',
    properties: { x: { type: 'integer' }, y: { type: 'integer' } },
    required: ['x', 'y'],
  };
  const step = () => ({ type: 'error', data: { message: 'Invalid message', code: 'VALIDATION_ERROR', errors: ['x'] } });
  const observation = 'The action is not valid: ["x"]';
  expect(await acted({ schema, step }, call('act', { x: 'far' }))).toEqual({ observation, reward: null, done: false });
  const unknown = 'There is no tool "fly".';
  expect(await acted({ schema }, call('fly'))).toEqual({ observation: unknown, reward: null, done: false });
});

test('the tools of an MCP environment are those that it lists', async () => {
  const schema = { type: 'object', properties: { tool_name: { type: 'string' }, arguments: { type: 'object' } } };
  await using server = await startScriptedOpenEnv({
    schema,
    step: () => observed({ tool_name: 'add', result: { content: [{ type: 'text', text: '5' }] }, error: null }),
  });
  const environment = openEnvironment({ url: server.url }).create();
  await environment.reset({}, context);
  expect(environment.tools()).toMatchObject([{ name: 'add', description: 'Adds.' }]);
  const { observation } = await environment.step(call('add', { a: 2 }), context);
  expect(observation).toBe('5');
  expect(server.messages.at(-1)).toEqual({
    type: 'step',
    data: { type: 'call_tool', tool_name: 'add', arguments: { a: 2 } },
  });
  expect(await environment.state(context)).toEqual({ episode_id: null, step_count: 0 });
  await environment.close();
});

test.each([
  ['a reward that is a Boolean', () => observed({ reply: 'right' }, true, true), 1],
  ['no reward', () => observed({ reply: 'continue' }), null],
  ['neither reward nor end', () => ({ type: 'observation', data: { observation: { reply: 'continue' } } }), null],
])('a server may send %s', async (_, step, reward) => {
  expect(await acted({ step })).toMatchObject({ reward });
});

test.each<[string, NonNullable<OpenEnvScript['step']>, RegExp]>([
  [
    'an error of the environment',
    () => failure('EXECUTION_ERROR', 'lost dice'),
    /ENVIRONMENT_FAILED.*EXECUTION_ERROR: lost dice/,
  ],
  ['text that is not JSON', () => ({ raw: 'Internal Server Error' }), /Unexpected token/],
  ['a message without data', () => ({ raw: '{"type":"observation"}' }), /message of the OpenEnv server/],
  ['a reward that is a text', () => observed({ reply: '' }, 'high', true), /observation of the OpenEnv server.*reward/],
  ['the end of the session', () => 'close', /UNREACHABLE.*closed with code 1011: out of memory/],
])('%s is an error, never a reward', async (_, step, message) => {
  await expect(acted({ step })).rejects.toThrow(message);
});

test.each([
  [{ status: 503, text: 'starting' }, /does not respond at .*: HTTP 503: starting/],
  [{ status: 200, text: '<html>' }, /Unexpected token/],
  [{ status: 200, text: '{}' }, /response of http.*action/],
])('the schema %o is an error', async (schema, message) => {
  await expect(acted({ schema })).rejects.toThrow(message);
});

test('a silent server is left at the time limit of the operation', async () => {
  await using server = await startScriptedOpenEnv({ step: () => 'silence' });
  const environment = openEnvironment({ url: server.url }).create();
  await environment.reset({}, context);
  const signal = AbortSignal.timeout(30);
  await expect(environment.step(say('hello'), { signal })).rejects.toThrow(/timeout/);
  await environment.close();
});

test('a full server is an error with the remedy, and serves again afterwards', async () => {
  await using server = await startScriptedOpenEnv({ sessions: 1 });
  const factory = openEnvironment({ url: server.url });
  const [one, other] = [factory.create(), factory.create()];
  await one.reset({}, context);
  const remedy = expect.stringContaining('max_concurrent_envs');
  await expect(other.reset({}, context)).rejects.toMatchObject({ code: 'ENVIRONMENT_FAILED', remedy });
  await one.close();
  expect(await other.reset({}, context)).toBe('Say it.');
  await other.close();
});
