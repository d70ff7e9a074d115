import { describe, expect, it } from 'vitest';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { aBatch, aDatum, batchOfFour } from '../a-batch.ts';
import { type Bench, plainLoss, trainOnce } from '../bench.ts';
import { refusalOf } from '../raw-client.ts';

/** LoRA and reference weights: supported when reported, rejected with a reason otherwise. */
export function describeFeatures(bench: Bench): void {
  describe('features', () => {
    it('trains LoRA, or rejects the field', async () => {
      const { lora } = bench.settings;
      const runtime = await bench.connect();
      const baseModel = await bench.baseModelOf(runtime);
      if (!(await bench.has('lora'))) {
        await expect(bench.model({ lora })).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'lora' });
        return;
      }
      const model = await bench.model({ runtime, lora });
      const state = await model.state();
      expect(state.lora).toMatchObject({ rank: lora.rank, alpha: lora.alpha ?? lora.rank });
      const { models } = await runtime.capabilities();
      const base = models.find(({ name }) => name === baseModel);
      if (state.trainableParameterCount !== undefined) {
        expect(state.trainableParameterCount).toBeLessThan(base?.parameterCount ?? 0);
      }
      const [before, whole] = [await model.logprobs(batchOfFour), await bench.model()];
      expect(largestGap(await whole.logprobs(batchOfFour), before)).toBeLessThan(bench.settings.logprobTolerance);
      for (let step = 0; step < 3; step += 1) await trainOnce(model, batchOfFour);
      expect(largestGap(await model.logprobs(batchOfFour), before)).toBeGreaterThan(bench.settings.logprobTolerance);
    });

    it('rejects a model without LoRA where it trains nothing else', async ({ skip }) => {
      skip(!(await bench.has('lora_only')), 'the runtime trains all weights');
      const runtime = await bench.connect();
      const wishes = { baseModel: await bench.baseModelOf(runtime), modelId: bench.newModelId(), seed: 1 };
      await expect(runtime.createModel(wishes)).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'lora' });
    });

    it('rejects an unsupported LoRA, and a different one for an existing model', async ({ skip }) => {
      skip(!(await bench.has('lora')), 'the runtime has no LoRA');
      const { lora } = bench.settings;
      const runtime = await bench.connect();
      const tooLarge = bench.model({ runtime, lora: { rank: 1_000_000 } });
      await expect(tooLarge).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'lora.rank' });
      const model = await bench.model({ runtime, lora });
      const baseModel = await bench.baseModelOf(runtime);
      const wishes = { baseModel, modelId: model.modelId, seed: 1, lora: { ...lora, rank: lora.rank - 1 } };
      const other = await bench.connect();
      await expect(other.createModel(wishes)).rejects.toMatchObject({ code: 'CONFLICT' });
    });

    it('resumes from a checkpoint of a LoRA bitwise identically', async ({ skip }) => {
      skip(!(await bench.has('lora')), 'the runtime has no LoRA');
      const model = await bench.model({ lora: bench.settings.lora });
      await trainOnce(model, batchOfFour);
      const saved = await (await model.saveCheckpoint('lora', {})).result;
      const goOn = async () => {
        await trainOnce(model, aBatch([5, 6, 7, 8]));
        return { step: (await model.state()).step, logprobs: numbersOf(await model.logprobs(batchOfFour)) };
      };
      const expected = await goOn();
      await (await model.loadCheckpoint(saved.uri)).result;
      bench.expectSame(await goOn(), expected);
    });

    it('scores with the initial weights, or rejects the field', async () => {
      const model = await bench.model(await wishesOfReference(bench));
      const before = await model.logprobs(batchOfFour);
      for (let step = 0; step < 3; step += 1) await trainOnce(model, batchOfFour);
      const hasReference = await bench.has('reference_logprobs');
      const asking = model.logprobs(batchOfFour, { useReference: true });
      if (!hasReference) {
        await expect(asking).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'header.use_reference' });
        return;
      }
      expect(largestGap(await asking, before)).toBeLessThan(bench.settings.logprobTolerance);
      expect(largestGap(await model.logprobs(batchOfFour), before)).toBeGreaterThan(bench.settings.logprobTolerance);
    });

    it('begins with the weights of another model, or rejects the field', async () => {
      const runtime = await bench.connect();
      const source = await bench.model({ runtime });
      await trainOnce(source, batchOfFour);
      await (await source.publishWeights()).result;
      const { uri } = await (await source.saveCheckpoint('trained', {})).result;
      const isSupported = await bench.has('initial_checkpoint');
      const creating = bench.model({ runtime, initialCheckpoint: uri });
      if (!isSupported) {
        await expect(creating).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'initial_checkpoint' });
        return;
      }
      const model = await creating;
      expect(await model.state()).toMatchObject({ step: 0, policyVersion: 0, hasPendingGradients: false });
      const initial = await source.logprobs(batchOfFour);
      expect(largestGap(await model.logprobs(batchOfFour), initial)).toBeLessThan(bench.settings.logprobTolerance);
      await trainOnce(model, aBatch([5, 6, 7, 8]));
      expect(await model.state()).toMatchObject({ step: 1 });
      expect(await source.state()).toMatchObject({ step: 1 });
      if (await bench.has('reference_logprobs')) {
        const reference = await model.logprobs(batchOfFour, { useReference: true });
        expect(largestGap(reference, initial)).toBeLessThan(bench.settings.logprobTolerance);
      }
      await source.deleteCheckpoint(uri);
      await expect(bench.model({ runtime, initialCheckpoint: uri })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('does not train reference weights', async () => {
      const model = await bench.rawModel();
      const { header, payload } = model.upload(1, batchOfFour);
      const refusal = await refusalOf(model.send({ header: { ...header, useReference: true }, payload }));
      expect(refusal).toMatchObject({ code: 'RUNTIME_REJECTED', field: 'header.use_reference' });
    });

    it('rejects data older than the batch allows, and takes no step', async () => {
      const model = await bench.model();
      await (await model.publishWeights()).result;
      await (await model.publishWeights()).result;
      const data = [aDatum(1, { minPolicyVersion: 1, maxPolicyVersion: 2 }), aDatum(2)];
      const { result } = await model.forwardBackward({ data, maxVersionLag: 1 }, plainLoss);
      await expect(result).rejects.toMatchObject({
        reason: ErrorReason.STALE_WEIGHTS,
        datumIndex: 1,
        staleness: { versionLag: 2, maxVersionLag: 1 },
      });
      const step = await model.optimStep({ learningRate: 0.1 });
      await expect(step.result).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
      await (await model.forwardBackward({ data, maxVersionLag: 2 }, plainLoss)).result;
      expect(await (await model.optimStep({ learningRate: 0.1 })).result).toMatchObject({ step: 1 });
    });
  });
}

/** With LoRA the reference is the base with LoRA disabled. */
async function wishesOfReference(bench: Bench): Promise<{ lora?: Bench['settings']['lora'] }> {
  return (await bench.has('lora')) ? { lora: bench.settings.lora } : {};
}

function largestGap(found: readonly Float32Array[], expected: readonly Float32Array[]): number {
  const [one, other] = [numbersOf(found), numbersOf(expected)];
  expect(one).toHaveLength(other.length);
  return Math.max(...one.map((value, at) => Math.abs(value - (other[at] ?? Number.NaN))));
}

function numbersOf(arrays: readonly Float32Array[]): readonly number[] {
  return arrays.flatMap((array) => [...array]);
}
