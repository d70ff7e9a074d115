import type { LossSpec } from '@agentlightning/core/training-runtime';
import { type LossName, lossDefinitions } from '@agentlightning/runtime/internal/losses';
import { RejectedRequestError } from '../runtime-errors.ts';

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
