// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { expect, onTestFinished, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { type DigitTask, digits, sayDigit } from './digit-agent.ts';
import { environment, startRuntime } from './runtime-process.ts';

/** Half a minute on an idle machine, longer on a loaded one. */
const patienceMs = 600_000;

describeWithPython(environment, 'the GPU runtime with a trainer', (python) => {
  test(
    'a TypeScript agent learns on the GPU runtime, through store, gateway and gRPC',
    async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'gpu-runtime-learning-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const keys = { apiKey: 'key-of-trainers', inferenceApiKey: 'key-of-agents' };
      const keyFiles = { training: path.join(folder, 'training-key'), inference: path.join(folder, 'inference-key') };
      writeFileSync(keyFiles.training, keys.apiKey);
      writeFileSync(keyFiles.inference, `${keys.inferenceApiKey}\n`);
      const runtime = await startRuntime(python, [
        ...['--model', 'tiny=random:llama-tiny', '--checkpoints', path.join(folder, 'checkpoints')],
        ...['--api-key-file', keyFiles.training, '--inference-key-file', keyFiles.inference],
      ]);
      onTestFinished(async () => void (await runtime.end('SIGTERM')));
      const config: TrainConfig<DigitTask> = {
        agent: sayDigit,
        tasks: { train: digits, test: digits },
        runtime: { type: 'grpc', address: runtime.address, ...keys },
        algorithm: { type: 'grpo', groupSize: 16, learningRate: 3e-3, loss: 'importance_sampling' },
        sampling: { temperature: 1 },
        evaluation: { tasks: 10, rolloutsPerTask: 4 },
        steps: 20,
        tasksPerStep: 10,
        agents: { concurrency: 40 },
        run: { dataDir: folder },
      };
      const { before, after, isImproved } = await new Trainer(config).fit();
      expect(before.reward).toBeLessThan(0.2);
      expect(after.reward).toBeGreaterThan(before.reward + 0.2);
      expect(isImproved).toBe(true);
    },
    patienceMs,
  );
});
