import { familyPart, runMetrics } from '@agentlightning/core/metrics';
import type { RunDetail, RunMetrics } from '../../src/api/run-views.ts';

/** A dimension of the reward by step. */
export interface RewardPart {
  readonly name: string;
  /** Contribution to the sum: weight times mean; the mean without weights. */
  readonly values: readonly (number | null)[];
  /** The sum of the parts before it, and with it; null without weights, where a part can be the total of the others. */
  readonly stack: { readonly low: readonly (number | null)[]; readonly high: readonly (number | null)[] } | null;
}

/** The dimensions of the reward of a run, stacked where their weighted sum is trained. */
export interface RewardParts {
  readonly parts: readonly RewardPart[];
  /** Whether the algorithm trains the weighted sum; otherwise the parts are plain means. */
  readonly isWeighted: boolean;
}

/** Reads the dimensions of the reward; fewer than two for a run with a single one. */
export function rewardParts({ config }: RunDetail, { series, steps }: RunMetrics): RewardParts {
  const weights = weightsIn(config);
  const parts: RewardPart[] = [];
  let low: readonly (number | null)[] = steps.map(() => 0);
  for (const { name, mean } of series) {
    const part = familyPart(runMetrics.rewardPartMean, name);
    if (part === null) continue;
    if (weights === null) {
      parts.push({ name: part, values: mean, stack: null });
      continue;
    }
    const weight = Object.hasOwn(weights, part) ? Number(weights[part]) : 0;
    if (weight === 0) continue;
    const values = mean.map((value) => (value === null ? null : value * weight));
    const base = low;
    const high = values.map((value, index) => (value === null ? null : (base[index] ?? 0) + value));
    parts.push({ name: part, values, stack: { low: base, high } });
    low = high;
  }
  return { parts, isWeighted: weights !== null };
}

function weightsIn({ algorithm }: RunDetail['config']): Readonly<Record<string, unknown>> | null {
  const weights = typeof algorithm === 'object' && algorithm !== null ? Reflect.get(algorithm, 'rewardWeights') : null;
  return typeof weights === 'object' && weights !== null ? weights : null;
}
