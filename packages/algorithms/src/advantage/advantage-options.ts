import type { AdvantageEstimator } from '@agentlightning/core/algorithm';
import { z } from 'zod';
import { batchStdAdvantage } from './batch-std-advantage.ts';
import { meanCentredAdvantage, opoAdvantage, rlooAdvantage } from './group-advantages.ts';
import { grpoAdvantage } from './grpo-advantage.ts';
import { maxRlAdvantage } from './maxrl-advantage.ts';
import { reinforcePlusPlusAdvantage } from './reinforce-plus-plus-advantage.ts';
import { reinforcePlusPlusBaselineAdvantage } from './reinforce-plus-plus-baseline-advantage.ts';

/** The names of the advantage estimators. */
export type AdvantageType =
  | 'grpo'
  | 'dr-grpo'
  | 'batch-std'
  | 'rloo'
  | 'opo'
  | 'maxrl'
  | 'reinforce++'
  | 'reinforce++-baseline';

const estimators: Readonly<Record<AdvantageType, () => AdvantageEstimator>> = {
  grpo: grpoAdvantage,
  'dr-grpo': meanCentredAdvantage,
  'batch-std': batchStdAdvantage,
  rloo: rlooAdvantage,
  opo: opoAdvantage,
  maxrl: maxRlAdvantage,
  'reinforce++': reinforcePlusPlusAdvantage,
  'reinforce++-baseline': reinforcePlusPlusBaselineAdvantage,
};

/** All names of advantage estimators. */
export const advantageTypes: readonly AdvantageType[] = Object.keys(estimators).filter(isAdvantageType);

/** Advantage estimator by name, as in a configuration file. */
export interface AdvantageOptions {
  /** The estimator. */
  readonly type: AdvantageType;
}

/** The shape of {@link AdvantageOptions}. */
export const advantageOptionsSchema: z.ZodType<AdvantageOptions> = z.strictObject({ type: z.enum(advantageTypes) });

/** Creates the advantage estimator with this name. */
export function advantageEstimator(options: AdvantageOptions): AdvantageEstimator {
  return estimators[options.type]();
}

function isAdvantageType(name: string): name is AdvantageType {
  return Object.hasOwn(estimators, name);
}
