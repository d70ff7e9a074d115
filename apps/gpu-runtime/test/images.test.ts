// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { expect, onTestFinished, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { environment, startRuntime } from './runtime-process.ts';
import { countSquares, placements, type SquaresTask } from './squares-agent.ts';

/** Three minutes on an idle machine, longer on a loaded one. */
const patienceMs = 1_200_000;

/** As many tasks with one square as with two or three; the one-square images are repeated. */
function tasksOf(isHeldOut: boolean, count: number): readonly SquaresTask[] {
  return placements.flatMap((all) => {
    const chosen = all.filter((_, index) => (index % 3 === 0) === isHeldOut);
    return Array.from({ length: count }, (_, index) => chosen[(index * 7) % chosen.length] as SquaresTask);
  });
}

describeWithPython(environment, 'the GPU runtime with images', (python) => {
  test(
    'an agent learns to count squares in images that it has not seen',
    async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'gpu-runtime-images-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const runtime = await startRuntime(python, [
        ...['--model', 'tiny=random:qwen3-vl-tiny', '--checkpoints', path.join(folder, 'checkpoints')],
      ]);
      onTestFinished(async () => void (await runtime.end('SIGTERM')));
      const config: TrainConfig<SquaresTask> = {
        agent: countSquares,
        tasks: { train: tasksOf(false, 24), test: tasksOf(true, 10) },
        runtime: { type: 'grpc', address: runtime.address },
        algorithm: {
          type: 'grpo',
          groupSize: 16,
          learningRate: Number(process.env.LR ?? 2e-3),
          loss: 'importance_sampling',
          entropyCoefficient: Number(process.env.ENT ?? 0.01),
        },
        sampling: { temperature: 1 },
        evaluation: { tasks: 30, rolloutsPerTask: 2 },
        steps: Number(process.env.STEPS ?? 60),
        tasksPerStep: 16,
        agents: { concurrency: 64 },
        run: { dataDir: folder },
      };
      const { before, after, runId, rewardCurve } = await new Trainer(config).fit();
      process.stdout.write(`${JSON.stringify(rewardCurve.map((each) => Math.round(100 * each)))}\n`);
      expect(before.reward).toBeLessThan(0.2);
      // Without the image, the best answer is always the same number: 0.53, a third right and the others possible.
      expect(after.reward).toBeGreaterThan(0.85);
      await using store = await openStore(path.join(folder, 'agl.db'));
      const { items } = await store.querySpans({ runId, limit: 1, nameContains: 'openai' } as never);
      const [call] = items.map(modelCallFromSpan);
      expect(call).toMatchObject({ isTrainable: true, imageCount: 1 });
    },
    patienceMs,
  );
});
