import type { LossSpec } from '@agentlightning/core/training-runtime';
import { RejectedRequestError } from '../errors/rejected-request-error.ts';
import type { LossName } from './losses.ts';

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
  readonly name: LossName;
  /** Version of the formula. */
  readonly version: number;
  /** Every parameter with its default. */
  readonly defaults: Readonly<Record<string, number>>;
}

/** The supported losses. */
export const lossDefinitions: readonly LossDefinition[] = [
  { name: 'cross_entropy', version: 1, defaults: commonDefaults },
  { name: 'importance_sampling', version: 1, defaults: commonDefaults },
  { name: 'ppo', version: 1, defaults: { ...commonDefaults, clip_low: 0.2, clip_high: 0.2, dual_clip: 3 } },
  { name: 'cispo', version: 1, defaults: { ...commonDefaults, clip_low: 1, clip_high: 3 } },
  { name: 'gspo', version: 1, defaults: { ...commonDefaults, clip_low: 3e-4, clip_high: 4e-4 } },
  { name: 'dro', version: 1, defaults: { ...commonDefaults, beta: 0.05 } },
];

/** A loss with a value for every parameter. */
export interface ResolvedLoss {
  readonly name: LossName;
  readonly parameters: Readonly<Record<string, number>>;
}

/** Validates a loss and fills in defaults; unknown names are rejected with the known ones. */
export function resolveLoss(spec: LossSpec): ResolvedLoss {
  const definition = lossDefinitions.find(({ name }) => name === spec.name);
  if (definition === undefined) {
    const known = lossDefinitions.map(({ name }) => name).join(', ');
    throw new RejectedRequestError(`Unknown loss "${spec.name}"; known losses: ${known}`);
  }
  for (const [key, value] of Object.entries(spec.parameters)) {
    if (!Object.hasOwn(definition.defaults, key)) {
      const accepted = Object.keys(definition.defaults).join(', ');
      throw new RejectedRequestError(`The loss ${spec.name} has no parameter "${key}"; it accepts ${accepted}`);
    }
    checkValue(spec.name, key, value);
  }
  return { name: definition.name, parameters: { ...definition.defaults, ...spec.parameters } };
}

function checkValue(loss: string, key: string, value: number): void {
  const isAllowed = key === 'kl_estimator' ? [1, 2, 3].includes(value) : Number.isFinite(value) && value >= 0;
  if (isAllowed) return;
  const expected = key === 'kl_estimator' ? '1, 2 or 3' : 'a finite number of at least 0';
  throw new RejectedRequestError(`${key} of the loss ${loss} is ${value}; it must be ${expected}`);
}
