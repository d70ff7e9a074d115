import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { OperationState } from '../../gen/agentlightning/runtime/v1/operation_pb.ts';
import { aBatch, batchOfFour } from '../a-batch.ts';
import type { Bench } from '../bench.ts';
import { refusalOf } from '../raw-client.ts';
import { openRawModel } from '../raw-model.ts';

/** Order, retries and gaps. */
export function describeSequence(bench: Bench): void {
  describe('the sequence of operations', () => {
    it('executes an operation once, regardless of retries', async () => {
      const { client, key, ended, modelId } = await bench.rawModel();
      const send = () => client.training.publishSamplerWeights({ key: key(1) });
      await Promise.all([send(), send()]);
      await ended(1);
      await send();
      const { model } = await client.training.getModel({ modelId });
      expect(model).toMatchObject({ policyVersion: 1, nextSeq: 2 });
    });

    it('recognises a retried batch by its header, without the payload', async () => {
      const model = await bench.rawModel();
      const upload = model.upload(1, batchOfFour);
      await model.send(upload);
      const again = await model.send({ ...upload, payload: null });
      expect(again.operation?.seq).toBe(1);
      await model.ended(1);
      const { operation } = await model.send({ ...upload, payload: null });
      expect(operation?.state).toBe(OperationState.SUCCEEDED);
    });

    it('executes in order of the numbers, regardless of the order of arrival', async () => {
      const model = await bench.rawModel();
      const { client, key } = model;
      await client.training.publishSamplerWeights({ key: key(3) });
      await client.training.optimStep({ key: key(2), adam: { learningRate: 0.01 }, requiresSeqs: [1] });
      await model.send(model.upload(1, batchOfFour));
      const operations = await Promise.all([1, 2, 3].map(model.ended));
      for (const operation of operations) expect(operation.state).toBe(OperationState.SUCCEEDED);
      const starts = operations.map(({ startTime }) => Number(startTime?.seconds) + (startTime?.nanos ?? 0) / 1e9);
      expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    });

    it('rejects a number beyond the window and reports the expected one', async () => {
      const { client, key, modelId } = await bench.rawModel();
      const { reorderWindow } = await client.runtime.getCapabilities({});
      const sending = client.training.publishSamplerWeights({ key: key(1 + reorderWindow) });
      expect(await refusalOf(sending)).toMatchObject({ code: 'SEQUENCE_GAP', nextSequence: 1 });
      const { model } = await client.training.getModel({ modelId });
      expect(model?.nextSeq).toBe(1);
    });

    it('rejects a number used for another operation', async () => {
      const model = await bench.rawModel();
      const { client, key } = model;
      await model.send(model.upload(1, batchOfFour));
      const otherBatch = model.send(model.upload(1, aBatch([9])));
      expect(await refusalOf(otherBatch)).toMatchObject({ code: 'SEQUENCE_REUSED' });
      const otherKind = client.training.publishSamplerWeights({ key: key(1) });
      expect(await refusalOf(otherKind)).toMatchObject({ code: 'SEQUENCE_REUSED' });
    });

    it('cancels operations of an earlier session beyond a gap, and frees their numbers', async () => {
      const first = await bench.rawModel();
      await first.client.training.publishSamplerWeights({ key: first.key(2) });
      const second = await openRawModel(first.client, first.modelId, {
        base: first.baseModel,
        ...(await bench.usualOptions()),
      });
      const { model } = await first.client.training.getModel({ modelId: first.modelId });
      expect(model?.nextSeq).toBe(1);
      await second.send(second.upload(1, batchOfFour));
      const step = { key: second.key(2), adam: { learningRate: 0.01 }, requiresSeqs: [1] };
      await second.client.training.optimStep(step);
      expect((await second.ended(2)).state).toBe(OperationState.SUCCEEDED);
    });

    it('cancels a waiting operation, but not an ended one', async () => {
      const model = await bench.rawModel();
      const { training } = model.client;
      // It certainly waits for number 1.
      await training.publishSamplerWeights({ key: model.key(2) });
      const { operation } = await training.cancelOperation({ key: model.key(2) });
      expect(operation).toMatchObject({
        state: OperationState.CANCELLED,
        outcome: { case: 'error', value: { reason: ErrorReason.CANCELLED } },
      });
      await training.publishSamplerWeights({ key: model.key(1) });
      await model.ended(1);
      const late = await refusalOf(training.cancelOperation({ key: model.key(1) }));
      expect(late).toMatchObject({ code: 'PRECONDITION_FAILED' });
      const { model: info } = await training.getModel({ modelId: model.modelId });
      expect(info).toMatchObject({ nextSeq: 3, policyVersion: 1 });
    });

    it('removes a result after its retention, and reports that', async ({ skip }) => {
      const resultTtlMs = 100;
      const runtime = await bench.startAnother(await bench.directory(), { resultTtlMs });
      const client = bench.raw(bench.apiKey, runtime.address);
      const capabilities = await client.runtime.getCapabilities({});
      skip(capabilities.resultTtlMs !== resultTtlMs, 'the retention of results is not configurable');
      const baseModel = await bench.baseModelOf(await bench.connect());
      const model = await openRawModel(client, bench.newModelId(), {
        base: baseModel,
        ...(await bench.usualOptions()),
      });
      await client.training.publishSamplerWeights({ key: model.key(1) });
      await model.ended(1);
      let seq = 2;
      const outcome = async (): Promise<unknown> => {
        await client.training.publishSamplerWeights({ key: model.key(seq) });
        seq += 1;
        await sleep(resultTtlMs / 2);
        const asking = client.training.getOperation({ modelId: model.modelId, seq: 1 });
        return asking.then(
          () => null,
          () => refusalOf(asking),
        );
      };
      await expect.poll(outcome, { timeout: 20_000 }).toMatchObject({
        reason: ErrorReason.RESULT_EXPIRED,
        code: 'NOT_FOUND',
      });
    });

    it('reports an unknown operation as not found', async () => {
      const { client, modelId } = await bench.rawModel();
      const asking = client.training.getOperation({ modelId, seq: 9 });
      expect(await refusalOf(asking)).toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}
