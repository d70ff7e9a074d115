import { describe, expect, it } from 'vitest';
import { aBatch, batchOfFour } from '../a-batch.ts';
import { type Bench, type Fingerprint, fingerprintOfModel, plainLoss, trainOnce } from '../bench.ts';

/** Saving, loading, listing and deleting. */
export function describeCheckpoints(bench: Bench): void {
  describe('checkpoints', () => {
    it('resumes from a checkpoint bitwise identically', async () => {
      const model = await bench.model();
      await trainOnce(model, batchOfFour);
      await trainOnce(model, aBatch([5, 6, 7, 8]));
      const saved = await (await model.saveCheckpoint('middle', {})).result;
      const goOn = async (): Promise<Fingerprint> => {
        await trainOnce(model, aBatch([9, 10, 11, 12]));
        await trainOnce(model, batchOfFour);
        return fingerprintOfModel(model, batchOfFour);
      };
      const expected = await goOn();
      await (await model.loadCheckpoint(saved.uri)).result;
      expect(await model.state()).toMatchObject({ step: 2 });
      bench.expectSame(await goOn(), expected);
    });

    it('returns the client state with every access to the checkpoint', async () => {
      const model = await bench.model();
      const clientState = { cursor: 17, best: { reward: 0.25, task: 'zwölf' }, seen: [1, null, true] };
      const saved = await (await model.saveCheckpoint('with-state', clientState)).result;
      expect(saved).toMatchObject({ step: 0, policyVersion: 0, clientState });
      expect(saved.sizeBytes).toBeGreaterThan(0);
      expect(await (await model.loadCheckpoint(saved.uri)).result).toMatchObject({ clientState });
      expect(await model.listCheckpoints()).toEqual([saved]);
    });

    it('lists the newest first, overwrites a name, and deletes', async () => {
      const model = await bench.model();
      const first = await (await model.saveCheckpoint('a', { turn: 1 })).result;
      await (await model.saveCheckpoint('b', { turn: 2 })).result;
      await (await model.saveCheckpoint('a', { turn: 3 })).result;
      const turns = (await model.listCheckpoints()).map(({ clientState }) => clientState['turn']);
      expect(turns).toEqual([3, 2]);
      await model.deleteCheckpoint(first.uri);
      expect(await model.listCheckpoints()).toHaveLength(1);
      await expect(model.deleteCheckpoint(first.uri)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const loading = await model.loadCheckpoint(first.uri);
      await expect(loading.result).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('restores the policy version and discards unused gradients', async () => {
      const model = await bench.model();
      await (await model.publishWeights()).result;
      const saved = await (await model.saveCheckpoint('v1', {})).result;
      await (await model.publishWeights()).result;
      await (await model.forwardBackward(batchOfFour, plainLoss)).result;
      expect(await model.state()).toMatchObject({ policyVersion: 2, hasPendingGradients: true });
      await (await model.loadCheckpoint(saved.uri)).result;
      expect(await model.state()).toMatchObject({ policyVersion: 1, hasPendingGradients: false });
      expect((await model.endpoint()).policyVersion).toBe(1);
    });

    it('never publishes a policy version twice, also when an earlier one was loaded', async () => {
      const model = await bench.model();
      const published: number[] = [];
      const publish = async (): Promise<void> => {
        published.push((await (await model.publishWeights()).result).policyVersion);
      };
      await publish();
      const saved = await (await model.saveCheckpoint('v1', {})).result;
      await publish();
      await publish();
      for (let turn = 0; turn < 2; turn += 1) {
        await (await model.loadCheckpoint(saved.uri)).result;
        expect((await model.endpoint()).policyVersion).toBe(1);
        await publish();
      }
      expect(published).toEqual([1, 2, 3, 4, 5]);
      expect(await model.state()).toMatchObject({ policyVersion: 5 });
    });

    it.each(['../escape', 'a/b', ''])('refuses the name "%s"', async (name) => {
      const model = await bench.model();
      await expect(model.saveCheckpoint(name, {})).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'name' });
      expect(await model.listCheckpoints()).toEqual([]);
    });

    it("does not load or delete another model's checkpoint", async () => {
      const [model, stranger] = [await bench.model(), await bench.model()];
      const saved = await (await model.saveCheckpoint('mine', {})).result;
      const loading = await stranger.loadCheckpoint(saved.uri);
      await expect(loading.result).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(stranger.deleteCheckpoint(saved.uri)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await model.listCheckpoints()).toEqual([saved]);
    });

    it('refuses a client state that is too large, and the model continues', async () => {
      const model = await bench.model();
      const saving = model.saveCheckpoint('large', { text: 'x'.repeat(5 * 1024 * 1024) });
      await expect(saving).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      await trainOnce(model, batchOfFour);
    });
  });
}
