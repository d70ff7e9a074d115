// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TrainConfig, Trainer, type TrainingEvent } from '@agentlightning/trainer';
import { expect, onTestFinished, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { type DigitTask, digits, sayDigit } from './digit-agent.ts';
import { rayVariables, startRayCluster } from './ray-cluster.ts';
import { environment, startRuntime } from './runtime-process.ts';

const testTimeoutMs = 900_000;

describeWithPython(environment, 'the GPU runtime on a Ray cluster of two nodes', (python) => {
  test(
    'a TypeScript agent trains for ten steps, during which a worker is killed',
    async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'gpu-runtime-ray-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const cluster = await startRayCluster(python);
      onTestFinished(() => cluster.stop());
      const flags = ['--engine', 'ray', '--ray-address', cluster.address, '--ray-workers', '2'];
      flags.push('--model', 'tiny=random:llama-tiny', '--checkpoints', path.join(folder, 'checkpoints'));
      const runtime = await startRuntime(python, flags, rayVariables);
      onTestFinished(async () => void (await runtime.end('SIGTERM')));
      const config: TrainConfig<DigitTask> = {
        agent: sayDigit,
        tasks: { train: digits, test: digits },
        runtime: { type: 'grpc', address: runtime.address },
        algorithm: { type: 'grpo', groupSize: 8, learningRate: 3e-3, loss: 'importance_sampling' },
        sampling: { temperature: 1 },
        evaluation: { tasks: 10, rolloutsPerTask: 4 },
        steps: 10,
        tasksPerStep: 10,
        concurrency: 40,
        dataDir: folder,
      };
      const events: TrainingEvent[] = [];
      const killed: Promise<void>[] = [];
      const onEvent = (event: TrainingEvent): void => {
        events.push(event);
        if (event.type !== 'stepped') return;
        // One worker of each node, while the next rollouts are sampled.
        if (event.summary.step === 4) killed.push(cluster.killWorker(0));
        if (event.summary.step === 7) killed.push(cluster.killWorker(1));
      };
      const summary = await new Trainer(config).fit({ onEvent });
      expect(killed).toHaveLength(2);
      await Promise.all(killed);
      const steps = events.filter((event) => event.type === 'stepped').map(({ summary: { step } }) => step);
      expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      // Neither the trainer nor the agents noticed: nothing was resumed, and no rollout failed.
      expect(events.filter(({ type }) => type === 'started')).toHaveLength(1);
      expect(summary.after.reward).toBeGreaterThan(summary.before.reward);
    },
    testTimeoutMs,
  );
});
