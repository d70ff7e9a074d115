import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { pythonEnvironments } from '../../../tools/python-environment.ts';
import { startRealServer } from '../../../tools/tinker-servers/start-server.ts';
import { AglProcess, stepOf, summaryOf } from './agl-process.ts';

const config = path.resolve(import.meta.dirname, 'fixtures/tinker-server.config.ts');

const describeServers = await pythonSuites(pythonEnvironments['tinker servers']);

describeServers('agl train on a real Tinker server', (python) => {
  test('hatchery: the reward rises, also over a kill of the trainer', { timeout: 600_000 }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'agl-tinker-'));
    const server = await startRealServer({ kind: 'hatchery', python, folder });
    const env = { TINKER_URL: server.url, TINKER_MODEL: server.model, TINKER_API_KEY: server.apiKey };
    try {
      const args = ['train', config, '--json', '--data-dir', folder];
      await using first = new AglProcess(args, { env });
      const runId = String((await first.event('started'))['runId']);
      await first.event('stepped', (event) => stepOf(event) === 2);
      await first.kill();
      await using resumed = new AglProcess([...args, '--resume', runId], { env });
      await resumed.event('finished');
      const events = [...first.events, ...resumed.events];
      const steps = events.filter(({ type }) => type === 'stepped');
      const rewards = steps.map((event) => Number(summaryOf(event)['reward']));
      expect(Math.max(...rewards.slice(1)), rewards.join(', ')).toBeGreaterThan((rewards[0] ?? 1) + 0.1);
      expect(steps.map(stepOf)).toContain(6);
    } finally {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
