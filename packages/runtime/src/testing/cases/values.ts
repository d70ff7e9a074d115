import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, it } from 'vitest';
import type { RuntimeModel } from '../../client/runtime-model.ts';
import { aDatum, batchOfFour, type DatumOverrides } from '../a-batch.ts';
import { type Bench, plainLoss } from '../bench.ts';

const columns = {
  valueTargets: Float32Array.of(1, -1, 0.5, 2, -0.25, 0),
  samplingValues: Float32Array.of(0.4, -0.4, 0, 0.1, -0.9, 0.3),
};

/** A value head: one output in addition to the logits, trained by a separate loss term. */
export function describeValues(bench: Bench): void {
  describe('a value head', () => {
    it('is created, or the field is rejected', async () => {
      const making = bench.model({ hasValueHead: true });
      if (await bench.has('value_head')) {
        expect(await (await making).state()).toMatchObject({ hasValueHead: true });
      } else {
        await expect(making).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'has_value_head' });
      }
    });

    it('is absent in a model created without it', async () => {
      const model = await bench.model();
      await expect(model.values(batchOfFour)).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
      const loss = { name: 'ppo', parameters: { value_coefficient: 1 } };
      const sending = model.forwardBackward({ data: [aDatum(1, columns)] }, loss);
      const field = 'loss.parameters.value_coefficient';
      await expect(sending).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field });
    });

    it.for<readonly [field: string, parameters: Record<string, number>, wrong: DatumOverrides]>([
      ['value_targets', { value_coefficient: 1 }, {}],
      ['sampling_values', { value_coefficient: 1, value_clip: 0.2 }, { valueTargets: columns.valueTargets }],
      ['value_targets', {}, { valueTargets: new Float32Array(5) }],
      ['value_targets[0]', {}, { valueTargets: new Float32Array(6).fill(Number.NaN) }],
      ['sampling_values[0]', {}, { samplingValues: new Float32Array(6).fill(Number.POSITIVE_INFINITY) }],
    ])('reports the datum and the field %s', async ([field, parameters, wrong], { skip }) => {
      const hasValueHead = await bench.has('value_head');
      skip(!hasValueHead && Object.keys(parameters).length > 0, 'the runtime has no value head');
      const model = await bench.model({ hasValueHead });
      const data = [aDatum(1, columns), aDatum(2, wrong)];
      const sending = model.forwardBackward({ data }, { name: 'ppo', parameters });
      await expect(sending).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', datumIndex: 1, field });
    });

    it.for([{ value_coefficient: 0.5 }, { value_coefficient: 0.5, value_clip: 0.1 }])(
      'adds the term of the contract: %j',
      async (parameters, { skip }) => {
        skip(!(await bench.has('value_head')), 'the runtime has no value head');
        const model = await bench.model({ hasValueHead: true });
        await teach(model, 3);
        const datum = aDatum(3, { ...columns, weights: Float32Array.of(0.5, 1, 0.25, 1, 2, 0.5) });
        const [values = new Float32Array()] = await model.values({ data: [datum] });
        const [plain, withValues] = [await lossOf(model, datum, {}), await lossOf(model, datum, parameters)];
        const expected = plain + valueLoss(values, datum, parameters);
        expect(Math.abs(withValues - expected)).toBeLessThan(
          bench.settings.lossTolerance * Math.max(1, Math.abs(expected)),
        );
      },
    );

    it('learns its targets, and is restored from a checkpoint', async ({ skip }) => {
      skip(!(await bench.has('value_head')), 'the runtime has no value head');
      const model = await bench.model({ hasValueHead: true });
      const data = [aDatum(3, columns)];
      const distance = async (): Promise<number> => {
        const [values = new Float32Array()] = await model.values({ data });
        return values.reduce((sum, value, at) => sum + ((columns.valueTargets[at] ?? 0) - value) ** 2, 0);
      };
      const before = await distance();
      await teach(model, 10);
      const after = await distance();
      expect(after).toBeLessThan(before);
      const saved = await (await model.saveCheckpoint('taught', {})).result;
      await teach(model, 3);
      await (await model.loadCheckpoint(saved.uri)).result;
      expect(await distance()).toBeCloseTo(after, 5);
    });

    it('returns log-probabilities and values of the same batch, each in its order', async ({ skip }) => {
      skip(!(await bench.has('value_head')), 'the runtime has no value head');
      const model = await bench.model({ hasValueHead: true });
      await teach(model, 3);
      const both = { data: [aDatum(3), aDatum(5, { trained: [{ start: 4, end: 6 }] })] };
      const values = await model.values(both);
      expect(values.map((array) => array.length)).toEqual([6, 2]);
      expect((await model.logprobs(both)).map((array) => array.length)).toEqual([6, 2]);
      for (const [at, datum] of both.data.entries()) {
        const [alone = new Float32Array()] = await model.values({ data: [datum] });
        for (const [token, value] of alone.entries()) expect(values[at]?.[token]).toBeCloseTo(value, 3);
      }
    });
  });
}

async function teach(model: RuntimeModel, steps: number): Promise<void> {
  const batch = { data: [aDatum(3, { ...columns, advantages: new Float32Array(6) })] };
  for (let step = 0; step < steps; step += 1) {
    await (await model.forwardBackward(batch, { name: 'ppo', parameters: { value_coefficient: 1 } })).result;
    await (await model.optimStep({ learningRate: 0.01 })).result;
  }
}

async function lossOf(
  model: RuntimeModel,
  datum: TrainingDatum,
  parameters: Readonly<Record<string, number>>,
): Promise<number> {
  const { result } = await model.forwardBackward({ data: [datum] }, { name: plainLoss.name, parameters });
  return (await result).loss;
}

/** LOSSES.md's term, with the weights. */
function valueLoss(
  values: Float32Array,
  { weights }: TrainingDatum,
  { value_coefficient: coefficient, value_clip: clip = 0 }: { value_coefficient: number; value_clip?: number },
): number {
  return values.reduce((sum, value, at) => {
    const [target, old] = [columns.valueTargets[at] ?? 0, columns.samplingValues[at] ?? 0];
    const held = Math.min(Math.max(value, old - clip), old + clip);
    const error = Math.max((value - target) ** 2, clip === 0 ? 0 : (held - target) ** 2);
    return sum + (weights[at] ?? 0) * coefficient * 0.5 * error;
  }, 0);
}
