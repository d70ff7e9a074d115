import { describe, expect, it } from 'vitest';
import { aBatch, aDatum, batchOfFour, type DatumOverrides } from '../a-batch.ts';
import { type Bench, fingerprintOfModel, plainLoss } from '../bench.ts';

const numbers = (count: number, value: number): Float32Array => new Float32Array(count).fill(value);

/** A datum with one invalid field, and the field's path. */
const wrongData: readonly (readonly [field: string, wrong: DatumOverrides])[] = [
  ['token_ids', { tokenIds: Int32Array.of(1), trained: [] }],
  ['token_ids[3]', { tokenIds: Int32Array.of(1, 2, 3, -1, 5, 6, 7, 8, 9, 1) }],
  ['token_ids[3]', { tokenIds: Int32Array.of(1, 2, 3, 2_000_000_000, 5, 6, 7, 8, 9, 1) }],
  ['trained[0].start', { trained: [{ start: 0, end: 6 }] }],
  ['trained[0].start', { trained: [{ start: 4, end: 4 }] }],
  ['trained[0].end', { trained: [{ start: 5, end: 11 }] }],
  [
    'trained[1].start',
    {
      trained: [
        { start: 2, end: 6 },
        { start: 5, end: 7 },
      ],
    },
  ],
  ['sampling_logprobs', { samplingLogprobs: numbers(5, -1) }],
  ['sampling_logprobs[0]', { samplingLogprobs: numbers(6, 0.5) }],
  ['sampling_logprobs[0]', { samplingLogprobs: numbers(6, Number.NEGATIVE_INFINITY) }],
  ['advantages', { advantages: numbers(7, 1) }],
  ['advantages[0]', { advantages: numbers(6, Number.NaN) }],
  ['weights', { weights: numbers(0, 1) }],
  ['weights[0]', { weights: numbers(6, Number.POSITIVE_INFINITY) }],
  ['reference_logprobs', { referenceLogprobs: numbers(3, -1) }],
  ['reference_logprobs[0]', { referenceLogprobs: numbers(6, 1) }],
  ['images', { images: ['data:image/png;base64,AAAA'] }],
  ['temperature', { temperature: 0 }],
  ['temperature', { temperature: Number.NaN }],
];

/** Invalid input is reported with its field, and never trained on. */
export function describeValidation(bench: Bench): void {
  describe('validation', () => {
    it.each(wrongData)('reports the datum and the field %s', async (field, wrong) => {
      const model = await bench.model();
      const batch = { data: [aDatum(1), aDatum(2), aDatum(3, wrong)] };
      const sending = model.forwardBackward(batch, plainLoss);
      await expect(sending).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', datumIndex: 2, field });
    });

    it('reports the datum that is longer than the context', async () => {
      const runtime = await bench.connect();
      const model = await bench.model({ runtime });
      const { models } = await runtime.capabilities();
      const tokenIds = new Int32Array((models[0]?.maxContext ?? 0) + 1);
      const sending = model.forwardBackward({ data: [aDatum(1), aDatum(2, { tokenIds })] }, plainLoss);
      await expect(sending).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', datumIndex: 1, field: 'token_ids' });
    });

    it('rejects a batch without sequences', async () => {
      const model = await bench.model();
      const sending = model.forwardBackward({ data: [] }, plainLoss);
      await expect(sending).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'data' });
    });

    it.each([
      ['loss.name', { name: 'no_such_loss', parameters: {} }],
      ['loss.parameters.clip_hihg', { name: 'ppo', parameters: { clip_hihg: 0.3 } }],
      ['loss.parameters.clip_low', { name: 'importance_sampling', parameters: { clip_low: 0.3 } }],
      ['loss.parameters.clip_low', { name: 'ppo', parameters: { clip_low: Number.NaN } }],
      ['loss.parameters.kl_estimator', { name: 'ppo', parameters: { kl_estimator: 4 } }],
    ])('rejects a loss for its %s', async (field, loss) => {
      const model = await bench.model();
      const sending = model.forwardBackward(batchOfFour, loss);
      await expect(sending).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field });
    });

    it('rejects a KL term without reference log-probabilities', async () => {
      const model = await bench.model();
      const loss = { name: 'ppo', parameters: { kl_coefficient: 0.1 } };
      await expect(model.forwardBackward(batchOfFour, loss)).rejects.toMatchObject({
        code: 'RUNTIME_REJECTED',
        datumIndex: 0,
        field: 'reference_logprobs',
      });
    });

    it.each([
      ['adam.learning_rate', { learningRate: Number.NaN }],
      ['adam.beta1', { learningRate: 0.1, beta1: 1 }],
      ['adam.epsilon', { learningRate: 0.1, epsilon: 0 }],
      ['adam.gradient_clip_norm', { learningRate: 0.1, gradientClipNorm: -1 }],
    ])('rejects a step for its %s', async (field, adam) => {
      const model = await bench.model();
      await model.forwardBackward(batchOfFour, plainLoss);
      await expect(model.optimStep(adam)).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field });
    });

    it('takes no step after a rejected batch', async () => {
      const model = await bench.model();
      const before = await fingerprintOfModel(model, batchOfFour);
      await model.forwardBackward(batchOfFour, plainLoss);
      await expect(model.forwardBackward(aBatch([1], { temperature: -1 }), plainLoss)).rejects.toThrow('temperature');
      const step = await model.optimStep({ learningRate: 0.1 });
      await expect(step.result).rejects.toMatchObject({ code: 'PRECONDITION_FAILED', gradientsDiscarded: true });
      expect(await model.state()).toMatchObject({ hasPendingGradients: false });
      bench.expectSame(await fingerprintOfModel(model, batchOfFour), before);
    });

    it('continues unaffected after a rejected batch', async () => {
      const [model, untroubled] = [await bench.model(), await bench.model()];
      await expect(model.forwardBackward({ data: [] }, plainLoss)).rejects.toThrow('data');
      const dropped = await model.optimStep({ learningRate: 0.1 });
      await expect(dropped.result).rejects.toThrow('gradients were discarded');
      for (const each of [model, untroubled]) {
        await each.forwardBackward(batchOfFour, plainLoss);
        await (await each.optimStep({ learningRate: 0.1 })).result;
      }
      bench.expectSame(await fingerprintOfModel(model, batchOfFour), await fingerprintOfModel(untroubled, batchOfFour));
    });
  });
}
