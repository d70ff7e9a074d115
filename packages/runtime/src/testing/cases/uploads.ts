import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { BatchSchema } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { OperationState } from '../../gen/agentlightning/runtime/v1/operation_pb.ts';
import { decodeBatch } from '../../wire/batch.ts';
import { packArray } from '../../wire/packed-array.ts';
import { sha256 } from '../../wire/sha256.ts';
import { aBatch, aDatum, batchOfFour } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, plainLoss, trainOnce } from '../bench.ts';
import { refusalOf } from '../raw-client.ts';
import type { RawUpload } from '../raw-model.ts';

const mebibyte = 1024 * 1024;

/** Accepted and rejected uploads. */
export function describeUploads(bench: Bench): void {
  describe('uploads', () => {
    it.each([
      ['tokenCount', 'header.token_count'],
      ['payloadBytes', 'header.payload_bytes'],
      ['datumCount', 'header.datum_count'],
    ] as const)('rejects an excessive %s before the payload is sent', async (name, field) => {
      const model = await bench.rawModel();
      const { header } = model.upload(1, batchOfFour);
      const sending = model.send({ header: { ...header, [name]: 0xffff_ffff }, payload: null });
      expect(await refusalOf(sending)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', field });
    });

    it.each([
      ['sha256', { sha256: new Uint8Array(32) }],
      ['payload_bytes', { payloadBytes: 10 }],
      ['token_count', { tokenCount: 1 }],
      ['datum_count', { datumCount: 1 }],
    ])('rejects a payload that differs from the header: %s', async (field, wrong) => {
      const model = await bench.rawModel();
      const { header, payload } = model.upload(1, batchOfFour);
      const refusal = await refusalOf(model.send({ header: { ...header, ...wrong }, payload }));
      expect(refusal).toMatchObject({ code: 'RUNTIME_REJECTED', field: `header.${field}` });
    });

    it('expands one number for all tokens, or one per interval', async () => {
      const advantages = Float32Array.of(0.5, 0.5, 0.5, -1, -1, -1);
      const batch = aBatch([1, 2], { weights: new Float32Array(6).fill(0.25), advantages });
      const norms = [];
      for (const spell of [short, spelledOut]) {
        const model = await bench.rawModel();
        const upload = model.upload(1, batch);
        await model.send(spell(upload, batch));
        await model.client.training.optimStep({ key: model.key(2), adam: { learningRate: 0 } });
        const { outcome } = await model.ended(2);
        norms.push(outcome.case === 'optimStep' ? outcome.value.gradientNorm : Number.NaN);
      }
      expect(norms[0]).toBeGreaterThan(0);
      expect(norms[0]).toBe(norms[1]);
    });

    it('accepts a batch much larger than a message', async () => {
      const { maxBatchBytes } = await bench.raw().runtime.getCapabilities({});
      const size = Math.min(bench.settings.largeBatchBytes, maxBatchBytes) - mebibyte / 2;
      const count = Math.max(4, Math.floor(size / mebibyte));
      const seeds = Array.from({ length: count }, (_, at) => at % 13);
      // Ids are free text, so that a batch can be large without much to compute.
      const rolloutId = 'x'.repeat(Math.floor(size / count) - 400);
      const fingerprints = [];
      for (const batch of [aBatch(seeds), aBatch(seeds, { rolloutId })]) {
        const model = await bench.model();
        await trainOnce(model, batch);
        fingerprints.push(await fingerprintOfModel(model, batchOfFour));
      }
      const [small, large] = fingerprints;
      if (small !== undefined && large !== undefined) bench.expectSame(large, small);
      expect(fingerprints).toHaveLength(2);
    });

    it('does not use a number for an incomplete upload', async () => {
      const model = await bench.rawModel();
      const upload = model.upload(1, batchOfFour);
      const refusal = await refusalOf(model.send({ ...upload, payload: upload.payload?.subarray(1) ?? null }));
      expect(refusal).toMatchObject({ reason: ErrorReason.INCOMPLETE });
      await model.send(upload);
      expect((await model.ended(1)).state).toBe(OperationState.SUCCEEDED);
    });

    it('returns the same error for a retried batch', async () => {
      const model = await bench.rawModel();
      const upload = model.upload(1, aBatch([1], { temperature: 0 }));
      const first = await refusalOf(model.send(upload));
      const again = await refusalOf(model.send({ ...upload, payload: null }));
      expect(again).toMatchObject({ message: first.message, field: 'temperature' });
    });

    it('executes a batch once when the connection is lost during the upload', async () => {
      const proxy = await bench.proxy();
      const cut = await bench.model({ runtime: await bench.connect({ address: proxy.address }) });
      const whole = await bench.model();
      const large = { data: Array.from({ length: 600 }, (_, at) => aDatum(at % 13)) };
      proxy.cutAfter(40_000);
      for (const model of [cut, whole]) {
        const { result } = await model.forwardBackward(large, plainLoss);
        await result;
        await (await model.optimStep({ learningRate: 0.05 })).result;
      }
      expect(proxy.cuts).toBe(1);
      bench.expectSame(await fingerprintOfModel(cut, batchOfFour), await fingerprintOfModel(whole, batchOfFour));
    });
  });
}

/** As encoded by the client: one weight for all tokens, one advantage for each interval. */
function short(upload: RawUpload): RawUpload {
  const [datum] = decodeBatch(upload.payload ?? new Uint8Array());
  expect([datum?.weights.byteLength, datum?.advantages.byteLength]).toEqual([4, 8]);
  return upload;
}

/** The same with a number for each token. */
function spelledOut({ header, payload }: RawUpload, { data }: TrainingBatch): RawUpload {
  const messages = decodeBatch(payload ?? new Uint8Array()).map((datum, at) => ({
    ...datum,
    weights: packArray(data[at]?.weights ?? new Float32Array()),
    advantages: packArray(data[at]?.advantages ?? new Float32Array()),
  }));
  const spelled = toBinary(BatchSchema, create(BatchSchema, { data: messages }));
  return { header: { ...header, payloadBytes: spelled.byteLength, sha256: sha256(spelled) }, payload: spelled };
}
