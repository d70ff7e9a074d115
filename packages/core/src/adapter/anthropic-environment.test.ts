import { expect, test } from 'vitest';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { anthropicEnvironment } from './anthropic-environment.ts';

test('a process receives the endpoint, its key and the trace position, and not the own key', () => {
  const endpoint = { baseUrl: 'http://127.0.0.1:1/rollout/r/attempt/a/v1/', model: 'policy', apiKey: 'gateway-key' };
  const context = { ...aRolloutContext({ endpoint }), agentName: 'clerk' };
  expect(anthropicEnvironment(context)).toEqual({
    ANTHROPIC_API_KEY: undefined,
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/rollout/r/attempt/a',
    ANTHROPIC_AUTH_TOKEN: 'gateway-key',
    ANTHROPIC_CUSTOM_HEADERS: expect.stringMatching(/^x-agl-trace-id: \w+\n(.*\n)*x-agl-agent-name: clerk\n/),
  });
  expect(anthropicEnvironment(aRolloutContext({ endpoint: { ...endpoint, apiKey: null } }))).toMatchObject({
    ANTHROPIC_AUTH_TOKEN: 'none',
  });
});

test('without an endpoint there is no environment', () => {
  expect(anthropicEnvironment(aRolloutContext({ endpoint: null }))).toBeNull();
});
