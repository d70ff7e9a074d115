// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import { type TrainConfig, Trainer } from '@agentlightning/trainer';
import { expect, onTestFinished, test } from 'vitest';
import { describeWithPython } from '../../../tools/describe-with-python.ts';
import { describePicture, type PictureTask } from './picture-agent.ts';
import { environment, startRuntime } from './runtime-process.ts';

/** Loading torch is slow, more so on a loaded machine. */
const patienceMs = 600_000;

describeWithPython(environment, 'the GPU runtime with images', (python) => {
  test('pictures of an agent are trained on, through gateway, store and gRPC', { timeout: patienceMs }, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'gpu-runtime-images-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const runtime = await startRuntime(python, [
      ...['--model', 'tiny=random:qwen3-vl-tiny', '--checkpoints', path.join(folder, 'checkpoints')],
    ]);
    onTestFinished(async () => void (await runtime.end('SIGTERM')));
    const config: TrainConfig<PictureTask> = {
      agent: describePicture,
      tasks: { train: [0, 80, 160, 240].map((grey) => ({ grey })), test: [{ grey: 40 }] },
      runtime: { type: 'grpc', address: runtime.address },
      algorithm: { type: 'grpo', groupSize: 8 },
      sampling: { temperature: 1 },
      steps: 2,
      tasksPerStep: 4,
      run: { dataDir: folder },
    };
    const steps: Readonly<Record<string, number>>[] = [];
    const { runId } = await new Trainer(config).fit({
      onEvent: (event) => {
        if (event.type === 'stepped') steps.push(event.summary.metrics);
      },
    });
    expect(steps).toHaveLength(2);
    for (const metrics of steps) {
      expect(metrics).toMatchObject({ 'calls/total': 32, 'calls/untrainable': 0 });
      expect(metrics['tokens/trained']).toBeGreaterThan(0);
      expect(metrics['policy/logprob_gap']).toBeLessThan(1e-4);
    }
    const store = await openStore(path.join(folder, 'agl.db'));
    onTestFinished(() => store.close());
    const { items } = await store.queryRollouts({ runId, limit: 1 });
    const spans = await store.querySpans({ rolloutId: items[0]?.rolloutId ?? '' });
    const [call] = spans.items.map(modelCallFromSpan).filter((each) => each !== null);
    expect(call).toMatchObject({ isTrainable: true, untrainableReason: null, imageCount: 1 });
    // Each picture once: those of four tasks and of the test, for 64 calls and more.
    const database = new DatabaseSync(path.join(folder, 'agl.db'), { readOnly: true });
    onTestFinished(() => database.close());
    expect(database.prepare('SELECT count(*) AS contents FROM contents').get()).toEqual({ contents: 5 });
  });
});
