import { AgentLightningError } from '@agentlightning/core';
import { env } from '@agentlightning/core/settings';
import { afterEach, expect, test, vi } from 'vitest';
import { recordedRuntime } from './recorded-runtime.ts';
import { resolveConfig } from './resolve-config.ts';
import { resolveRun } from './resolve-run.ts';

const minimal = { agent: () => 1, tasks: { train: 'train.jsonl', test: [{ question: '1' }] } };

afterEach(() => void vi.unstubAllEnvs());

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (AgentLightningError.isInstance(error) && error.code === 'CONFIG') return error.message;
    throw error;
  }
  throw new TypeError('the configuration was accepted');
}

test('fills in defaults and makes paths absolute', () => {
  const config = resolveConfig(minimal, '/home/me/clerk');
  expect(config.name).toBe('clerk');
  expect(config.tasks.train).toBe('/home/me/clerk/train.jsonl');
  expect(config.tasks.test).toEqual([{ question: '1' }]);
  expect(config.storeUrl).toBe('sqlite:/home/me/clerk/.agl/agl.db');
  expect(config.runtime).toEqual({ type: 'embedded' });
  expect(config.algorithm.type).toBe('grpo');
});

test('saves less often with a runtime whose checkpoints are large', () => {
  expect(resolveConfig(minimal, '/').checkpoints.every).toBe(1);
  const runtime = { type: 'grpc', address: 'gpu:50051' };
  expect(resolveConfig({ ...minimal, runtime }, '/').checkpoints.every).toBe(10);
  expect(resolveConfig({ ...minimal, runtime, checkpoints: { every: 2 } }, '/').checkpoints.every).toBe(2);
});

test('resolves paths from the folder of the configuration, and keeps URLs', () => {
  const urlOf = (url: string): string => resolveConfig({ ...minimal, store: { url } }, '/home/me/clerk').storeUrl;
  expect(urlOf('sqlite:runs/a.db')).toBe('sqlite:/home/me/clerk/runs/a.db');
  expect(urlOf('sqlite::memory:')).toBe('sqlite::memory:');
  expect(urlOf('http://store:4747')).toBe('http://store:4747');
});

test('fills in the rest of an evaluation', () => {
  expect(resolveConfig({ ...minimal, evaluation: { every: 5 } }, '/').evaluation).toEqual({
    every: 5,
    maxMissingShare: 0.05,
    tasks: 128,
    rolloutsPerTask: 1,
    sampling: { temperature: 1 },
    guards: {},
  });
});

test('names an unknown key and the nearest known one', () => {
  expect(messageOf(() => resolveConfig({ ...minimal, stepz: 3 }, '/'))).toContain('"stepz"; did you mean "steps"?');
  expect(messageOf(() => resolveConfig({ ...minimal, sampling: { temprature: 1 } }, '/'))).toContain(
    '"sampling.temprature"; did you mean "temperature"?',
  );
  const policies = { writer: { agent: ['writer'] } };
  expect(messageOf(() => resolveConfig({ ...minimal, policies }, '/'))).toContain(
    'no option "policies.writer.agent"; did you mean "agents"?',
  );
  const runtime = { type: 'grpc', address: 'gpu:50051', adress: '' };
  expect(messageOf(() => resolveConfig({ ...minimal, runtime }, '/'))).toContain('"runtime.adress"; did you mean');
});

test.each([
  [{ tls: { certificate: 'pem' } }, 'certificate and privateKey come together'],
  [{ tls: { authorty: 'pem' } }, '"runtime.tls.authorty"; did you mean "authority"?'],
  [{ lora: { rank: 0 } }, 'runtime.lora.rank'],
  [{ tokenizerSha256: 'abc' }, '64 hexadecimal digits'],
])('says what is wrong with a runtime elsewhere: %j', (wrong, words) => {
  const runtime = { type: 'grpc', address: 'gpu:50051', ...wrong };
  expect(messageOf(() => resolveConfig({ ...minimal, runtime }, '/'))).toContain(words);
});

test('names an unknown key of the algorithm', () => {
  const config = { ...minimal, algorithm: { type: 'grpo', learningrate: 1 } };
  expect(messageOf(() => resolveConfig(config, '/'))).toMatch(/learningrate.*learningRate/);
});

test('reports every problem of every part at once', () => {
  const message = messageOf(() =>
    resolveRun(
      {
        agent: 'agent.ts',
        tasks: minimal.tasks,
        stepz: 3,
        tasksPerStep: 0,
        gateway: { tokenSecret: 'short' },
        algorithm: { type: 'grpo', learningrate: 1 },
        runtime: { type: 'endpoint', baseUrl: 'http://localhost:1/v1', model: 'm' },
        policies: {
          'a reference': { agents: ['one'] },
          second: { agents: ['one'], algorithm: { type: 'gpro' } },
        },
      },
      '/',
    ),
  );
  for (const problem of [
    'agent: must be a function',
    'no option "stepz"',
    'tasksPerStep: must be at least 1',
    'secret',
    'learningrate',
    'an endpoint cannot be trained',
    '"a reference" cannot be the name',
    'the agent "one" is in',
    'policies.second: ',
  ]) {
    expect(message).toContain(problem);
  }
});

test('refuses values out of range and says which', () => {
  expect(messageOf(() => resolveConfig({ ...minimal, tasksPerStep: 0 }, '/'))).toContain(
    'tasksPerStep: must be at least 1, not 0',
  );
  expect(messageOf(() => resolveConfig({ ...minimal, sampling: { temperature: 0 } }, '/'))).toContain(
    'sampling.temperature: must be more than 0, not 0',
  );
  expect(messageOf(() => resolveConfig({ ...minimal, gateway: { url: 'here' } }, '/'))).toContain(
    'gateway.url: must be a URL, such as http://localhost:8000/v1, not "here"',
  );
  expect(messageOf(() => resolveConfig({ ...minimal, agent: 'agent.ts' }, '/'))).toContain('agent: must be a function');
  expect(messageOf(() => resolveConfig({ ...minimal, tasks: { train: [], test: [] } }, '/'))).toContain('tasks.train');
});

test('reads secrets from environment variables, and names a variable that is not set', () => {
  vi.stubEnv('AGL_TEST_SECRET', 'hidden');
  const server = { type: 'tinker', baseUrl: 'http://localhost:1', model: 'm' };
  const read = (name: string) =>
    resolveConfig({ ...minimal, runtime: { ...server, apiKey: env(name) }, store: { apiKey: env(name) } }, '/');
  expect(read('AGL_TEST_SECRET').runtime).toMatchObject({ apiKey: 'hidden' });
  expect(read('AGL_TEST_SECRET').storeApiKey).toBe('hidden');
  expect(messageOf(() => read('AGL_TEST_ABSENT'))).toContain(
    'runtime.apiKey: the environment variable AGL_TEST_ABSENT is not set',
  );
  // The value itself instead of the name.
  expect(messageOf(() => read('tml-not a name'))).not.toContain('tml-not');
});

test('records no secret of a runtime', () => {
  const runtime = { type: 'tinker', baseUrl: 'http://localhost:1', model: 'm', apiKey: 'hidden' } as const;
  expect(JSON.stringify(recordedRuntime(runtime))).not.toContain('hidden');
});
