import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import type { RuntimeError } from '../../runtime-error.ts';
import type { Bench } from '../bench.ts';
import { type RawClient, refusalOf } from '../raw-client.ts';
import { loraMessage, openRawModel, type RawModel } from '../raw-model.ts';

/** Long enough for heartbeats on a busy machine. */
const sessionTtlMs = 3_000;
const abandonedModelTtlMs = 500;

/** Models whose session has ended without unloading them. */
export function describeAbandonment(bench: Bench): void {
  describe('abandoned models', () => {
    it('are unloaded after their session expired, keep their checkpoints, and can be recreated', async ({ skip }) => {
      const wishes = { sessionTtlMs, abandonedModelTtlMs };
      const runtime = await bench.startAnother(await bench.directory(), wishes);
      const client = bench.raw(bench.apiKey, runtime.address);
      const limits = await client.runtime.getCapabilities({});
      const isTold = limits.sessionTtlMs === sessionTtlMs && limits.abandonedModelTtlMs === abandonedModelTtlMs;
      skip(!isTold, 'the retention of sessions and abandoned models is not configurable');
      const base = await bench.baseModelOf(await bench.connect());
      const owned = await openRawModel(client, bench.newModelId(), { base, ...(await bench.usualOptions()) });
      const abandoned = await openRawModel(client, bench.newModelId(), { base, ...(await bench.usualOptions()) });
      await client.training.publishSamplerWeights({ key: abandoned.key(1) });
      await client.training.saveCheckpoint({ key: abandoned.key(2), name: 'last', clientState: Buffer.from('{}') });
      await abandoned.ended(2);

      const refusal = await gone(client, abandoned, owned.sessionId);
      expect(refusal).toMatchObject({ reason: ErrorReason.NOT_FOUND, code: 'NOT_FOUND' });
      expect(refusal.message).toContain(abandoned.modelId);
      expect(refusal.remedy).toContain('checkpoint');
      const lapsed = await refusalOf(client.runtime.heartbeat({ sessionId: abandoned.sessionId }));
      expect(lapsed).toMatchObject({ reason: ErrorReason.SESSION_EXPIRED });
      // The other session sent heartbeats throughout.
      const { model } = await client.training.getModel({ modelId: owned.modelId });
      expect(model).toMatchObject({ nextSeq: 1 });

      const again = await openRawModel(client, abandoned.modelId, { base, ...(await bench.usualOptions()) });
      const { checkpoints } = await client.training.listCheckpoints({ modelId: again.modelId });
      expect(checkpoints).toMatchObject([{ name: 'last', policyVersion: 1 }]);
      await client.training.loadCheckpoint({ key: again.key(1), uri: checkpoints[0]?.uri ?? '' });
      expect(await again.ended(1)).toMatchObject({ outcome: { case: 'checkpoint' } });
    });

    it('can be taken over by another session after theirs was closed', async () => {
      const model = await bench.rawModel();
      const { runtime, training } = model.client;
      await training.publishSamplerWeights({ key: model.key(1) });
      await model.ended(1);
      await runtime.closeSession({ sessionId: model.sessionId });
      const { sessionId } = await runtime.createSession({ clientSessionKey: randomUUID() });
      const { modelId, baseModel } = model;
      const usual = loraMessage(await bench.usualOptions());
      await training.createModel({ sessionId, modelId, baseModel, seed: 1, ...usual });
      const { model: info } = await training.getModel({ modelId });
      expect(info).toMatchObject({ nextSeq: 2, policyVersion: 1 });
    });
  });
}

/** The error for an unloaded model; another session sends heartbeats meanwhile. */
async function gone(client: RawClient, { modelId }: RawModel, livingSessionId: string): Promise<RuntimeError> {
  for (;;) {
    await client.runtime.heartbeat({ sessionId: livingSessionId });
    const asking = client.training.getModel({ modelId });
    const isThere = await asking.then(
      () => true,
      () => false,
    );
    if (!isThere) return refusalOf(asking);
    await sleep(50);
  }
}
