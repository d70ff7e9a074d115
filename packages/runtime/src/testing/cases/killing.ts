import { describe, expect, it } from 'vitest';
import type { RuntimeModel } from '../../client/runtime-model.ts';
import { aBatch, batchOfFour } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, plainLoss, trainOnce } from '../bench.ts';
import { openRawClient } from '../raw-client.ts';
import { openRawModel, openUpload } from '../raw-model.ts';

const secondBatch = aBatch([5, 6, 7, 8]);
const modelId = 'killed';

/** The activity during which a runtime is killed; resolves when it has started. */
const moments: readonly (readonly [doing: string, begin: (model: RuntimeModel, place: Place) => Promise<unknown>])[] = [
  ['an upload', (_model, place) => uploadHalf(place)],
  ['a pass over a batch', (model) => model.forwardBackward(aBatch(manySeeds), plainLoss)],
  [
    'a step',
    async (model) => {
      await model.forwardBackward(aBatch(manySeeds), plainLoss);
      await model.optimStep({ learningRate: 0.05 });
    },
  ],
  [
    'a checkpoint over an older one of the same name',
    // Large, so that writing takes a while.
    (model) => model.saveCheckpoint('safe', { step: 2, filler: 'x'.repeat(3 * 1024 * 1024) }),
  ],
];

interface Place {
  readonly address: string;
  readonly apiKey: string;
  readonly baseModel: string;
  readonly usual: Awaited<ReturnType<Bench['usualOptions']>>;
}

const manySeeds = Array.from({ length: 100 }, (_, at) => at % 13);

/** A runtime killed at any moment keeps its last complete checkpoint and resumes from it. */
export function describeKilling(bench: Bench): void {
  describe('a runtime that is killed', () => {
    it.each(moments)('in %s resumes from a complete checkpoint bitwise identically', async (_doing, begin) => {
      const directory = await bench.directory();
      const first = await bench.startAnother(directory);
      const connection = await bench.connect({ address: first.address, reconnectTimeoutMs: 1_000 });
      const baseModel = await bench.baseModelOf(connection);
      const usual = await bench.usualOptions();
      const model = await connection.createModel({ baseModel, modelId, seed: 1, ...usual });
      await trainOnce(model, batchOfFour);
      await (await model.saveCheckpoint('safe', { step: 1 })).result;
      await trainOnce(model, secondBatch);
      const expected = await fingerprintOfModel(model, batchOfFour);
      await begin(model, { address: first.address, apiKey: bench.apiKey, baseModel, usual });
      await first.kill();

      const second = await bench.startAnother(directory);
      const again = await bench.connect({ address: second.address });
      const resumed = await again.createModel({ baseModel, modelId, seed: 1, ...usual });
      const checkpoints = await resumed.listCheckpoints();
      expect(checkpoints).toHaveLength(1);
      const [checkpoint] = checkpoints;
      expect(checkpoint?.clientState['step']).toBe(checkpoint?.step);
      await (await resumed.loadCheckpoint(checkpoint?.uri ?? '')).result;
      if (checkpoint?.step === 1) await trainOnce(resumed, secondBatch);
      bench.expectSame(await fingerprintOfModel(resumed, batchOfFour), expected);
    });
  });
}

/** Sends the header and half of the bytes, then stops. */
async function uploadHalf({ address, apiKey, baseModel, usual }: Place): Promise<void> {
  const client = openRawClient(address, apiKey);
  const model = await openRawModel(client, modelId, { base: baseModel, ...usual });
  const { model: info } = await client.training.getModel({ modelId });
  const { header, payload } = model.upload(info?.nextSeq ?? 0, aBatch(manySeeds));
  const half = payload?.subarray(0, payload.byteLength / 2) ?? null;
  openUpload(client, { header, payload: half }).catch(() => client.close());
  // Responses follow the upload on the same connection, so the sent part was received.
  await client.runtime.getCapabilities({});
}
