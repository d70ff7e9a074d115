import { systemClock } from '@agentlightning/core/internal';
import { runtimeMetrics } from '@agentlightning/core/metrics';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RuntimeMetric } from '../../client/watch-metrics.ts';
import { batchOfFour } from '../a-batch.ts';
import { type Bench, trainOnce } from '../bench.ts';
import type { RawClient } from '../raw-client.ts';

/** The metrics stream. */
export function describeMetrics(bench: Bench): void {
  describe('measurements', () => {
    it('cover every pass and step, or the feature is rejected', async () => {
      const runtime = await bench.connect();
      const model = await bench.model({ runtime });
      const watching = runtime.watchMetrics({ modelId: model.modelId });
      if (!(await bench.has('metrics'))) {
        const first = watching[Symbol.asyncIterator]().next();
        await expect(first).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
        return;
      }
      await model.forwardBackward(batchOfFour, { name: 'importance_sampling', parameters: {} });
      const { gradientNorm } = await (await model.optimStep({ learningRate: 0.05 })).result;
      const seen: RuntimeMetric[] = [];
      for await (const metric of watching) {
        seen.push(metric);
        if (metric.name === runtimeMetrics.optimizerGradientNorm.name) break;
      }
      const names = seen.map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining([runtimeMetrics.trainLoss.name, runtimeMetrics.trainTokensPerSecond.name]),
      );
      for (const { modelId, value } of seen) {
        expect(modelId).toBe(model.modelId);
        expect(value).toSatisfy(Number.isFinite);
      }
      expect(seen.at(-1)?.value).toBeCloseTo(gradientNorm ?? Number.NaN, 4);
      expect(seen.at(-1)?.step).toBe(1);
      expect(Math.abs((seen.at(-1)?.timeMs ?? 0) - systemClock.now())).toBeLessThan(600_000);
    });

    it('resume after a cursor without duplicates or gaps', async ({ skip }) => {
      skip(!(await bench.has('metrics')), 'the runtime has no measurements');
      const model = await bench.model();
      const client = bench.raw();
      await trainOnce(model, batchOfFour);
      const first = await readSteps(client, { modelId: model.modelId, last: 1 });
      await trainOnce(model, batchOfFour);
      await trainOnce(model, batchOfFour);
      const rest = await readSteps(client, { modelId: model.modelId, last: 3, afterCursor: first.cursor });
      expect([first.steps, rest.steps]).toEqual([[1], [2, 3]]);
    });
  });
}

/** The steps with a reported norm, until the last. */
async function readSteps(
  { runtime }: RawClient,
  { modelId, last, afterCursor = '' }: { modelId: string; last: number; afterCursor?: string },
): Promise<{ steps: readonly number[]; cursor: string }> {
  const watching = new AbortController();
  onTestFinished(() => watching.abort());
  const steps: number[] = [];
  const { signal } = watching;
  for await (const { cursor, points } of runtime.watchMetrics({ modelId, afterCursor }, { signal })) {
    steps.push(
      ...points.filter(({ name }) => name === runtimeMetrics.optimizerGradientNorm.name).map(({ step }) => step),
    );
    if (steps.at(-1) === last) return { steps, cursor };
  }
  return { steps, cursor: '' };
}
