import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, it } from 'vitest';
import { OperationState } from '../../gen/agentlightning/runtime/v1/operation_pb.ts';
import { aBatch, aDatum, batchOfFour } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, plainLoss } from '../bench.ts';
import { refusalOf } from '../raw-client.ts';

/** float32 overflows below the product of two of these. */
const huge = 3e38;

/** The batches that a step applies. */
export function describeGradients(bench: Bench): void {
  describe('gradients', () => {
    it('accepts batches and the step without waiting in between', async () => {
      const model = await bench.model();
      const sent = await Promise.all([
        model.forwardBackward(aBatch([1, 2, 3, 4]), plainLoss),
        model.forwardBackward(aBatch([5, 6, 7, 8]), plainLoss),
        model.optimStep({ learningRate: 0.05 }),
      ]);
      expect(sent.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
      const [first, second, step] = sent;
      expect((await first.result).trainedTokens).toBe(24);
      expect((await second.result).trainedTokens).toBe(24);
      expect(await step.result).toMatchObject({ step: 1, isSkipped: false });
      expect((await step.result).gradientNorm ?? 1).toBeGreaterThan(0);
    });

    it('sums batches: two halves train like the whole', async () => {
      const [whole, halves] = [await bench.model(), await bench.model()];
      const data = [1, 2, 3, 4].map((seed) => aDatum(seed));
      await whole.forwardBackward({ data }, plainLoss);
      await halves.forwardBackward({ data: data.slice(0, 2) }, plainLoss);
      await halves.forwardBackward({ data: data.slice(2) }, plainLoss);
      const results = [];
      for (const model of [whole, halves]) results.push(await (await model.optimStep({ learningRate: 0.01 })).result);
      expect(relativeGap(results[1]?.gradientNorm, results[0]?.gradientNorm)).toBeLessThan(
        bench.settings.lossTolerance,
      );
      const [one, other] = [await whole.logprobs(batchOfFour), await halves.logprobs(batchOfFour)];
      expect(largestGap(one, other)).toBeLessThan(10 * bench.settings.logprobTolerance);
    });

    it('increases the probability of tokens with positive advantage, decreases it with negative', async () => {
      for (const sign of [1, -1]) {
        const model = await bench.model();
        const [before = new Float32Array()] = await model.logprobs({ data: [aDatum(1)] });
        const datum = aDatum(1, { samplingLogprobs: before, advantages: before.map(() => sign) });
        await model.forwardBackward({ data: [datum] }, plainLoss);
        await (await model.optimStep({ learningRate: 0.01 })).result;
        const [after = new Float32Array()] = await model.logprobs({ data: [datum] });
        expect(Math.sign(sum(after) - sum(before))).toBe(sign);
      }
    });

    it('ignores tokens of weight 0, regardless of their other values', async () => {
      const [model, control] = [await bench.model(), await bench.model()];
      const silent = aDatum(7, { weights: new Float32Array(6), advantages: new Float32Array(6).fill(1e6) });
      await model.forwardBackward({ data: [...batchOfFour.data, silent] }, plainLoss);
      await control.forwardBackward(batchOfFour, plainLoss);
      const norms = [];
      for (const each of [model, control])
        norms.push((await (await each.optimStep({ learningRate: 0 })).result).gradientNorm);
      expect(relativeGap(norms[0], norms[1])).toBeLessThan(bench.settings.lossTolerance);
    });

    it('rejects a step without gradients', async () => {
      const model = await bench.model();
      const step = await model.optimStep({ learningRate: 0.1 });
      await expect(step.result).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
      expect(await model.state()).toMatchObject({ step: 0 });
    });

    it('rejects a step that requires unknown batches, and discards the gradients', async () => {
      const model = await bench.rawModel();
      const { training } = model.client;
      await model.send(model.upload(1, batchOfFour));
      await training.optimStep({ key: model.key(2), adam: { learningRate: 0.1 }, requiresSeqs: [1, 0] });
      const step = await model.ended(2);
      expect(step.state).toBe(OperationState.FAILED);
      expect(step.outcome).toMatchObject({ case: 'error', value: { gradientsDiscarded: true } });
      const { model: info } = await training.getModel({ modelId: model.modelId });
      expect(info).toMatchObject({ step: 0, hasPendingGradients: false });
    });

    it('rejects a step over gradients of an earlier session', async () => {
      const first = await bench.model();
      await (await first.forwardBackward(aBatch([1, 2]), plainLoss)).result;
      const runtime = await bench.connect();
      const { modelId, baseModel } = await first.state();
      const second = await runtime.createModel({ modelId, baseModel, seed: 1, ...(await bench.usualOptions()) });
      expect(await second.state()).toMatchObject({ hasPendingGradients: true });
      await second.forwardBackward(batchOfFour, plainLoss);
      const step = await second.optimStep({ learningRate: 0.1 });
      await expect(step.result).rejects.toMatchObject({ code: 'PRECONDITION_FAILED', gradientsDiscarded: true });
      expect(await second.state()).toMatchObject({ step: 0, hasPendingGradients: false });
    });

    it('rejects a step when a batch before it was cancelled', async () => {
      const model = await bench.rawModel();
      const { training } = model.client;
      // Both wait for number 1.
      await model.send(model.upload(2, batchOfFour));
      await training.optimStep({ key: model.key(3), adam: { learningRate: 0.1 } });
      await training.cancelOperation({ key: model.key(2) });
      await model.send(model.upload(1, batchOfFour));
      expect((await model.ended(3)).state).toBe(OperationState.FAILED);
      const { model: info } = await training.getModel({ modelId: model.modelId });
      expect(info).toMatchObject({ step: 0, hasPendingGradients: false });
    });

    it('rejects a step after a failed batch even when the step does not require it', async () => {
      const model = await bench.rawModel();
      const { training } = model.client;
      await refusalOf(model.send(model.upload(1, aBatch([1], { temperature: 0 }))));
      await model.send(model.upload(2, batchOfFour));
      await training.optimStep({ key: model.key(3), adam: { learningRate: 0.1 }, requiresSeqs: [2] });
      expect((await model.ended(3)).state).toBe(OperationState.FAILED);
    });

    it('keeps non-finite values out of the weights, and continues', async () => {
      const [model, control] = [await bench.model(), await bench.model()];
      const before = await model.logprobs(batchOfFour);
      const wild = aDatum(1, { advantages: new Float32Array(6).fill(huge), weights: new Float32Array(6).fill(huge) });
      const batch = await model.forwardBackward({ data: [wild] }, plainLoss);
      const step = await model.optimStep({ learningRate: 0.1 });
      await expectNotStepped(batch.result, step.result);
      expect(await model.logprobs(batchOfFour)).toEqual(before);
      for (const each of [model, control]) {
        await each.forwardBackward(batchOfFour, plainLoss);
        await (await each.optimStep({ learningRate: 0 })).result;
      }
      const [after, expected] = [
        await fingerprintOfModel(model, batchOfFour),
        await fingerprintOfModel(control, batchOfFour),
      ];
      expect(after.logprobs).toEqual(expected.logprobs);
    });
  });
}

/** Either the batch and the step fail, or the step reports that it was skipped. */
async function expectNotStepped(batch: Promise<unknown>, step: Promise<{ isSkipped: boolean }>): Promise<void> {
  const [batchEnd, stepEnd] = await Promise.allSettled([batch, step]);
  if (batchEnd.status === 'rejected') {
    expect(batchEnd.reason).toMatchObject({ code: 'NON_FINITE' });
    expect(stepEnd).toMatchObject({ status: 'rejected', reason: { code: 'PRECONDITION_FAILED' } });
  } else {
    expect(stepEnd).toMatchObject({ status: 'fulfilled', value: { isSkipped: true } });
  }
}

function sum(values: Float32Array): number {
  return values.reduce((total, value) => total + value, 0);
}

function largestGap(one: readonly TrainingDatum['weights'][], other: readonly TrainingDatum['weights'][]): number {
  const gaps = one.flatMap((array, index) =>
    Array.from(array, (value, at) => Math.abs(value - (other[index]?.[at] ?? 0))),
  );
  return Math.max(...gaps);
}

function relativeGap(found: number | undefined, expected: number | undefined): number {
  if (found === undefined && expected === undefined) return 0;
  return Math.abs((found ?? Number.NaN) / (expected ?? Number.NaN) - 1);
}
