import { aRolloutContext } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { gatewayOption } from './gateway-environment.ts';

const endpoint = { baseUrl: 'http://127.0.0.1:1/rollout/r/attempt/a/v1/', model: 'policy', apiKey: 'gateway-key' };

test('a process receives the endpoint, its key and the trace position, and not the own credentials', () => {
  const context = { ...aRolloutContext({ endpoint }), agentName: 'clerk' };
  const own = { PATH: '/bin', ANTHROPIC_API_KEY: 'own-key', ANTHROPIC_CUSTOM_HEADERS: 'authorization: own' };
  expect(gatewayOption(own, context).env).toMatchObject({
    PATH: '/bin',
    ANTHROPIC_API_KEY: undefined,
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/rollout/r/attempt/a',
    ANTHROPIC_AUTH_TOKEN: 'gateway-key',
    ANTHROPIC_CUSTOM_HEADERS: expect.stringMatching(/^x-agl-trace-id: \w+\n(.*\n)*x-agl-agent-name: clerk\n/),
  });
});

test('without a key of the endpoint a process has a placeholder, and without options the environment of this process', () => {
  const { env } = gatewayOption(undefined, aRolloutContext({ endpoint: { ...endpoint, apiKey: null } }));
  expect(env).toMatchObject({ PATH: process.env['PATH'], ANTHROPIC_AUTH_TOKEN: 'none' });
});

test('without an endpoint the environment is unchanged', () => {
  expect(gatewayOption({}, aRolloutContext({ endpoint: null }))).toEqual({});
});
