import { describe, expect, it } from 'vitest';
import { connectRuntime } from '../../client/connect-runtime.ts';
import type { RuntimeConnection } from '../../client/grpc-runtime.ts';
import type { RuntimeModel } from '../../client/runtime-model.ts';
import { aBatch, batchOfFour } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, plainLoss, trainOnce } from '../bench.ts';

const reconnectTimeoutMs = 1_000;

/** A dead runtime loses no finished work, and all pending calls are rejected. */
export function describeDeath(bench: Bench): void {
  describe('a runtime that dies', () => {
    it('rejects all pending calls, and a new one resumes from the checkpoint bitwise identically', async () => {
      const directory = await bench.directory();
      const first = await bench.startAnother(directory);
      const connection = await bench.connect({ address: first.address, reconnectTimeoutMs });
      const model = await makeModel(bench, connection);
      await trainOnce(model, batchOfFour);
      await (await model.saveCheckpoint('safe', { step: 1 })).result;
      await trainOnce(model, aBatch([5, 6, 7, 8]));
      const expected = await fingerprintOfModel(model, batchOfFour);
      const settled = Promise.allSettled(sendMuch(model));
      await first.kill();
      const ends = await settled;
      const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []));
      expect(new Set(reasons)).toEqual(new Set(['RUNTIME_UNAVAILABLE']));
      await expect(model.optimStep({ learningRate: 0.1 })).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });

      const second = await bench.startAnother(directory);
      const resumed = await makeModel(bench, await bench.connect({ address: second.address }));
      const [checkpoint] = await resumed.listCheckpoints();
      expect(checkpoint).toMatchObject({ step: 1, clientState: { step: 1 } });
      await (await resumed.loadCheckpoint(checkpoint?.uri ?? '')).result;
      await trainOnce(resumed, aBatch([5, 6, 7, 8]));
      bench.expectSame(await fingerprintOfModel(resumed, batchOfFour), expected);
    });

    it('is not confused with its successor', async () => {
      const directory = await bench.directory();
      const first = await bench.startAnother(directory);
      const proxy = await bench.proxy(first.address);
      const connection = await bench.connect({ address: proxy.address, reconnectTimeoutMs: 20_000 });
      const model = await makeModel(bench, connection);
      const pending = sendMuch(model);
      // Immediately: killing a process may take longer than its clients wait.
      const settled = Promise.allSettled(pending);
      await first.kill();
      // A new runtime on which another client has created the same model with the same number of operations.
      const second = await bench.startAnother(directory);
      const stranger = await makeModel(bench, await bench.connect({ address: second.address }));
      for (const _ of pending) await (await stranger.publishWeights()).result;
      proxy.redirect(second.address);
      const ends = await settled;
      expect(ends.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'RUNTIME_UNAVAILABLE' } });
      await (await stranger.publishWeights()).result;
    });

    it('is detected when the connection is refused', async () => {
      const nowhere = await bench.startAnother(await bench.directory());
      await nowhere.kill();
      const connecting = connectRuntime({ address: nowhere.address, reconnectTimeoutMs: 200 });
      await expect(connecting).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
      await expect(connecting).rejects.toThrow(nowhere.address);
    });
  });
}

async function makeModel(bench: Bench, runtime: RuntimeConnection): Promise<RuntimeModel> {
  return runtime.createModel({
    baseModel: await bench.baseModelOf(runtime),
    modelId: 'mortal',
    seed: 1,
    ...(await bench.usualOptions()),
  });
}

/** More work than completes, or is even sent, before the runtime is killed. */
function sendMuch(model: RuntimeModel): readonly Promise<unknown>[] {
  const large = aBatch(Array.from({ length: 400 }, (_, at) => at % 13));
  return Array.from({ length: 30 }, async () => (await model.forwardBackward(large, plainLoss)).result);
}
