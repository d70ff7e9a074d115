import { describe, expect, it } from 'vitest';
import { aBatch, batchOfFour } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, trainOnce } from '../bench.ts';

/** Creating, finding, taking over and unloading models. */
export function describeModels(bench: Bench): void {
  describe('models', () => {
    it('creates a model in its initial state', async () => {
      const runtime = await bench.connect();
      const baseModel = await bench.baseModelOf(runtime);
      const model = await bench.model({ runtime });
      expect(await model.state()).toMatchObject({
        modelId: model.modelId,
        baseModel,
        step: 0,
        policyVersion: 0,
        nextSequence: 1,
        hasPendingGradients: false,
        isCorrupted: false,
        hasValueHead: false,
      });
    });

    it('finds a model from another connection, which then owns it', async () => {
      const first = await bench.model({ seed: 5 });
      await trainOnce(first, batchOfFour);
      const runtime = await bench.connect();
      const baseModel = await bench.baseModelOf(runtime);
      const second = await runtime.createModel({
        baseModel,
        modelId: first.modelId,
        seed: 5,
        ...(await bench.usualOptions()),
      });
      expect(await second.state()).toMatchObject({ step: 1, nextSequence: 3 });
      await trainOnce(second, batchOfFour);
      expect(await second.state()).toMatchObject({ step: 2 });
      const late = first.forwardBackward(batchOfFour, { name: 'importance_sampling', parameters: {} });
      await expect(late).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    });

    it('draws the same weights from the same seed', async () => {
      const runtime = await bench.connect();
      const [first, same] = await Promise.all([bench.model({ runtime, seed: 3 }), bench.model({ runtime, seed: 3 })]);
      const expected = await fingerprintOfModel(first, batchOfFour);
      bench.expectSame(await fingerprintOfModel(same, batchOfFour), expected);
    });

    it('draws other weights from another seed', async ({ skip }) => {
      skip(!bench.settings.isSeeded, 'the weights of the base model do not come from the seed');
      const runtime = await bench.connect();
      const [one, other] = await Promise.all([bench.model({ runtime, seed: 3 }), bench.model({ runtime, seed: 4 })]);
      const ofOne = await fingerprintOfModel(one, batchOfFour);
      expect(await fingerprintOfModel(other, batchOfFour)).not.toEqual(ofOne);
    });

    it('rejects an unknown base model and lists the known ones', async () => {
      const runtime = await bench.connect();
      const making = runtime.createModel({ baseModel: 'none', modelId: bench.newModelId(), seed: 1 });
      await expect(making).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'base_model' });
      await expect(making).rejects.toThrow(await bench.baseModelOf(runtime));
    });

    it.each(['', 'a/../b', 'x'.repeat(256)])('refuses the model id "%s"', async (modelId) => {
      const runtime = await bench.connect();
      const making = runtime.createModel({
        baseModel: await bench.baseModelOf(runtime),
        modelId,
        seed: 1,
        ...(await bench.usualOptions()),
      });
      await expect(making).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'model_id' });
    });

    it('refuses the id of a model with another seed', async () => {
      const first = await bench.model({ seed: 1 });
      const runtime = await bench.connect();
      const baseModel = await bench.baseModelOf(runtime);
      const making = runtime.createModel({
        baseModel,
        modelId: first.modelId,
        seed: 2,
        ...(await bench.usualOptions()),
      });
      await expect(making).rejects.toMatchObject({ code: 'CONFLICT' });
    });

    it('returns the same model to all callers of a connection, unless the options differ', async () => {
      const runtime = await bench.connect();
      const wanted = {
        baseModel: await bench.baseModelOf(runtime),
        modelId: bench.newModelId(),
        seed: 1,
        ...(await bench.usualOptions()),
      };
      const [first, second] = await Promise.all([runtime.createModel(wanted), runtime.createModel(wanted)]);
      expect(second).toBe(first);
      await expect(runtime.createModel({ ...wanted, seed: 2 })).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await runtime.createModel(wanted)).toBe(first);
      await trainOnce(first, batchOfFour);
      expect(await first.state()).toMatchObject({ step: 1 });
    });

    it('removes an unloaded model, and can create it again', async () => {
      const runtime = await bench.connect();
      const model = await bench.model({ runtime });
      await trainOnce(model, batchOfFour);
      await model.unload();
      await expect(model.state()).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const { modelId } = model;
      const fresh = await runtime.createModel({
        baseModel: await bench.baseModelOf(runtime),
        modelId,
        seed: 1,
        ...(await bench.usualOptions()),
      });
      expect(await fresh.state()).toMatchObject({ step: 0, nextSequence: 1 });
    });

    it('isolates two models that train concurrently', async () => {
      const runtime = await bench.connect();
      const alone = await bench.model({ runtime, seed: 1 });
      const mixed = await bench.model({ runtime, seed: 1 });
      const neighbour = await bench.model({ runtime, seed: 2 });
      const batches = [aBatch([1, 2, 3, 4]), aBatch([5, 6, 7, 8]), aBatch([9, 10, 11, 12])];
      for (const batch of batches) await trainOnce(alone, batch);
      for (const [at, batch] of batches.entries()) {
        const others = aBatch([13 + at, 17 + at, 21 + at, 25 + at]);
        await Promise.all([trainOnce(mixed, batch), trainOnce(neighbour, others)]);
      }
      const expected = await fingerprintOfModel(alone, batchOfFour);
      bench.expectSame(await fingerprintOfModel(mixed, batchOfFour), expected);
      expect(await fingerprintOfModel(neighbour, batchOfFour)).not.toEqual(expected);
    });
  });
}
