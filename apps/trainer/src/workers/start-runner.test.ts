import { openStore } from '@agentlightning/store';
import { expect, test } from 'vitest';
import { resolveConfig } from '../config/resolve-config.ts';
import { startRunner } from './start-runner.ts';

test('refuses a list of environment variables for agents that share those of the trainer', async () => {
  const agents = { env: ['SEARCH_API_KEY'] };
  const config = resolveConfig({ agent: () => 1, tasks: { train: [{}], test: [{}] }, agents }, '/');
  expect(config.agents.env).toEqual(['SEARCH_API_KEY']);
  const store = await openStore(':memory:');
  const run = await store.createRun({ runId: 'run-1', name: 'run', config: {} });
  const onFailure = ({ message }: Error): never => expect.unreachable(message);
  expect(() => startRunner({ config, store, run, emit: () => undefined, onFailure })).toThrow(/agents\.env/);
  await store.close();
});
