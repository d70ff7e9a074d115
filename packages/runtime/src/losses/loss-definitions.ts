/** Name of a loss of LOSSES.md. */
export type LossName = 'cross_entropy' | 'importance_sampling' | 'ppo' | 'cispo' | 'gspo' | 'dro';

/** Parameters of every loss. */
const commonDefaults = {
  /** Coefficient of the entropy in nats, subtracted from each token's loss. */
  entropy_coefficient: 0,
  /** Coefficient of the KL estimate to the reference log-probabilities, added to each token's loss. */
  kl_coefficient: 0,
  /** 1, 2 or 3: Schulman's k1, k2 or k3. */
  kl_estimator: 3,
  /** Coefficient of the value head's error, added to each token's loss. */
  value_coefficient: 0,
  /** Clip range of the value around the sampling value; 0 disables the clip. */
  value_clip: 0,
} as const;

/** A supported loss as reported in the capabilities. */
export interface LossDefinition {
  /** Name in LOSSES.md. */
  readonly name: LossName;
  /** Version of the formula. */
  readonly version: number;
  /** Every parameter with its default. */
  readonly defaults: Readonly<Record<string, number>>;
}

/** The losses of LOSSES.md. */
export const lossDefinitions: readonly LossDefinition[] = [
  { name: 'cross_entropy', version: 1, defaults: commonDefaults },
  { name: 'importance_sampling', version: 1, defaults: commonDefaults },
  { name: 'ppo', version: 1, defaults: { ...commonDefaults, clip_low: 0.2, clip_high: 0.2, dual_clip: 3 } },
  { name: 'cispo', version: 1, defaults: { ...commonDefaults, clip_low: 1, clip_high: 3 } },
  { name: 'gspo', version: 1, defaults: { ...commonDefaults, clip_low: 3e-4, clip_high: 4e-4 } },
  { name: 'dro', version: 1, defaults: { ...commonDefaults, beta: 0.05 } },
];
