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
  // SkyRL compiles its programs for minutes at its first start.
  const timeout = 1_800_000;
  test.each(['hatchery', 'skyrl'] as const)('%s: held-out rewards rise over a kill', { timeout }, async (kind) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'agl-tinker-'));
    const server = await startRealServer({ kind, python, folder });
    const env = { TINKER_URL: server.url, TINKER_MODEL: server.model, TINKER_API_KEY: server.apiKey };
    try {
      const args = ['train', config, '--json', '--data-dir', folder];
      await using first = new AglProcess(args, { env });
      const runId = String((await first.event('started'))['runId']);
      await first.event('stepped', (event) => stepOf(event) === 2);
      await first.kill();
      await using resumed = new AglProcess([...args, '--resume', runId], { env });
      const { summary } = await resumed.event('finished');
      const { before, after } = z.object({ before: evaluation, after: evaluation }).parse(summary);
      expect(after.reward).toBeGreaterThan(before.reward + 0.1);
      const steps = [...first.events, ...resumed.events].filter(({ type }) => type === 'stepped');
      expect(steps.map(stepOf)).toContain(6);
      for (const step of steps) expect(gapOf(step)).toBeLessThan(1e-4);
    } finally {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
