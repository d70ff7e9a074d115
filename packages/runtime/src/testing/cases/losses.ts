import { runMetrics } from '@agentlightning/core/metrics';
import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { describe, expect, it } from 'vitest';
import { referenceTokenLoss } from '../../losses/reference-loss.ts';
import { aDatum } from '../a-batch.ts';
import type { Bench } from '../bench.ts';

const losses = [
  ['cross_entropy', {}],
  ['importance_sampling', {}],
  ['importance_sampling', { entropy_coefficient: 0.1 }],
  ['importance_sampling', { kl_coefficient: 0.5, kl_estimator: 1 }],
  ['importance_sampling', { kl_coefficient: 0.5, kl_estimator: 2 }],
  ['importance_sampling', { kl_coefficient: 0.5, kl_estimator: 3 }],
  ['ppo', { clip_low: 0.2, clip_high: 0.28, dual_clip: 0 }],
  ['ppo', { clip_low: 0.2, clip_high: 0.28, dual_clip: 1.3 }],
  ['cispo', { clip_low: 0.1, clip_high: 0.3 }],
  ['gspo', { clip_low: 0.2, clip_high: 0.05 }],
  ['dro', { beta: 0.4 }],
] as const;

/** Offsets of the sampling log-probabilities from the model's: ratios below, inside and above every clip. */
const logRatios = [-0.6, -0.1, 0, 0.1, 0.4, 0.9];

/** The losses match the formulas of LOSSES.md. */
export function describeLosses(bench: Bench): void {
  describe('losses', () => {
    it.each(losses)('computes %s with %j as in the contract', async (name, parameters) => {
      const model = await bench.model();
      for (const parameter of Object.keys(parameters)) {
        if (await bench.hasParameter(name, parameter)) continue;
        const refused = model.forwardBackward({ data: [aDatum(3)] }, { name, parameters });
        await expect(refused).rejects.toMatchObject({ field: `loss.parameters.${parameter}` });
        return;
      }
      for (const temperature of await bench.temperatures()) {
        const shape = aDatum(3, { temperature });
        const [logprobs = new Float32Array()] = await model.logprobs({ data: [shape] });
        const datum: TrainingDatum = {
          ...shape,
          samplingLogprobs: logprobs.map((logprob, at) => Math.min(logprob - (logRatios[at] ?? 0), 0)),
          referenceLogprobs: logprobs.map((logprob, at) => Math.min(logprob + 0.3 * (at - 2), 0)),
          advantages: Float32Array.of(1, -1, 0.5, -2, 1.5, -1),
          weights: Float32Array.of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5),
        };
        const { result } = await model.forwardBackward({ data: [datum] }, { name, parameters });
        const { loss, metrics } = await result;
        const entropy = metrics[runMetrics.policyEntropy.name] ?? 0;
        const expected = expectedLoss({ name, parameters }, { datum, logprobs, entropy });
        expect(Math.abs(loss - expected)).toBeLessThan(bench.settings.lossTolerance * Math.max(1, Math.abs(expected)));
      }
    });

    it('scores at the temperature of each sequence, or rejects other than 1', async () => {
      const model = await bench.model();
      if (await bench.has('unit_temperature')) {
        const refused = model.logprobs({ data: [aDatum(3), aDatum(3, { temperature: 0.5 })] });
        await expect(refused).rejects.toMatchObject({ field: 'temperature', datumIndex: 1 });
        return;
      }
      const [plain, cool] = await model.logprobs({ data: [aDatum(3), aDatum(3, { temperature: 0.5 })] });
      expect(cool).not.toEqual(plain);
    });
  });
}

function expectedLoss(
  loss: { name: string; parameters: Readonly<Record<string, number>> },
  scored: { datum: TrainingDatum; logprobs: Float32Array; entropy: number },
): number {
  const { datum, logprobs, entropy } = scored;
  const differences = logprobs.map((logprob, at) => logprob - (datum.samplingLogprobs[at] ?? 0));
  const meanLogRatio = differences.reduce((sum, difference) => sum + difference, 0) / differences.length;
  return logprobs.reduce((sum, logprob, at) => {
    const token = {
      logprob,
      samplingLogprob: datum.samplingLogprobs[at] ?? 0,
      referenceLogprob: datum.referenceLogprobs?.[at],
      advantage: datum.advantages[at] ?? 0,
      meanLogRatio,
      entropy,
    };
    return sum + (datum.weights[at] ?? 0) * referenceTokenLoss(loss, token).value;
  }, 0);
}
