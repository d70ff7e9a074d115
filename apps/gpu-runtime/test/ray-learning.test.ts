// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { rayVariables, startRayCluster } from './ray-cluster.ts';
import { environment, startRuntime } from './runtime-process.ts';

const testTimeoutMs = 900_000;

/** Ray ends slowly on a busy machine. */
const endTimeoutMs = 120_000;

const agl = path.join(import.meta.dirname, '../../trainer/src/cli/main.ts');
const configFile = path.join(import.meta.dirname, 'fixtures/digits.config.ts');

describeWithPython(environment, 'the GPU runtime on a Ray cluster of two nodes', (python) => {
  test(
    'agl train runs ten steps, during which a worker of each node is killed',
    async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'gpu-runtime-ray-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const cluster = await startRayCluster(python);
      onTestFinished(() => cluster.stop(), endTimeoutMs);
      const flags = ['--engine', 'ray', '--ray-address', cluster.address, '--ray-workers', '2'];
      flags.push('--model', 'tiny=random:llama-tiny', '--checkpoints', path.join(folder, 'checkpoints'));
      const runtime = await startRuntime(python, flags, rayVariables);
      onTestFinished(async () => void (await runtime.end('SIGTERM')), endTimeoutMs);
      const train = ['train', configFile, '--runtime', runtime.address, '--data-dir', folder, '--json'];
      const trainer = spawn(process.execPath, ['--conditions=@agentlightning/source', agl, ...train], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void trainer.kill());
      const exited = once(trainer, 'exit');
      const events: Readonly<Record<string, unknown>>[] = [];
      for await (const line of createInterface({ input: trainer.stdout })) {
        const event: Readonly<Record<string, unknown>> = JSON.parse(line);
        events.push(event);
        // One worker of each node, while the next rollouts are sampled.
        if (event['event'] === 'step' && event['step'] === 4) await cluster.killWorker(0);
        if (event['event'] === 'step' && event['step'] === 7) await cluster.killWorker(1);
      }
      // Neither the trainer nor the agents noticed: nothing was resumed, and the reward has improved.
      expect(await exited).toEqual([0, null]);
      const steps = events.filter(({ event }) => event === 'step').map(({ step }) => step);
      expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(events.filter(({ event }) => event === 'started')).toHaveLength(1);
    },
    testTimeoutMs,
  );
});
