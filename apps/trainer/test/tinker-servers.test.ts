import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { pythonSuites } from '../../../tools/describe-with-python.ts';
import { pythonEnvironments } from '../../../tools/python-environment.ts';
import { startRealServer } from '../../../tools/tinker-servers/start-server.ts';
import { type AglEvent, AglProcess, stepOf, summaryOf } from './agl-process.ts';

const config = path.resolve(import.meta.dirname, 'fixtures/tinker-server.config.ts');

const evaluation = z.object({ reward: z.number() });

const measured = z.object({ metrics: z.object({ 'policy/logprob_gap': z.number() }) });

/** The difference of the log-probabilities of sampler and trainer in a step, in nats. */
function gapOf(event: AglEvent): number {
  return measured.parse(summaryOf(event)).metrics['policy/logprob_gap'];
}

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
      const { summary } = await resumed.event('finished');
      const { before, after } = z.object({ before: evaluation, after: evaluation }).parse(summary);
      expect(after.reward).toBeGreaterThan(before.reward + 0.2);
      const steps = [...first.events, ...resumed.events].filter(({ type }) => type === 'stepped');
      expect(steps.map(stepOf)).toContain(6);
      for (const step of steps) expect(gapOf(step)).toBeLessThan(1e-4);
    } finally {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
