import type { LossSpec } from '../gen/agentlightning/runtime/v1/batch_pb.ts';
import type { AdamParameters } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import type { OptionalColumn } from './batches/check-datum.ts';
import type { EngineCapabilities, ResolvedAdam, ResolvedLoss } from './engine.ts';
import { invalid } from './invalid.ts';

/** Optional columns that a loss reads when their parameter is not 0. */
const columnsOfParameters: Readonly<Record<OptionalColumn, string>> = {
  reference_logprobs: 'kl_coefficient',
  value_targets: 'value_coefficient',
  sampling_values: 'value_clip',
};

/** The optional columns that a loss needs, each with the parameter that requires it. */
export function columnsNeeded({ parameters }: ResolvedLoss): Partial<Record<OptionalColumn, string>> {
  const needed = Object.entries(columnsOfParameters).filter(([, parameter]) => (parameters[parameter] ?? 0) !== 0);
  // Without the value term no value is clipped.
  const hasValueTerm = (parameters['value_coefficient'] ?? 0) !== 0;
  return Object.fromEntries(needed.filter(([column]) => hasValueTerm || column !== 'sampling_values'));
}

/**
 * Fills in a loss's defaults.
 * @throws RuntimeError INVALID for an unknown loss or parameter; none is ignored
 */
export function resolveLoss(spec: LossSpec | undefined, losses: EngineCapabilities['losses']): ResolvedLoss {
  const known = losses.find((loss) => loss.name === spec?.name);
  if (spec === undefined || known === undefined) {
    const names = losses.map((loss) => loss.name).join(', ');
    throw invalid('loss.name', `is "${spec?.name ?? ''}"; known losses: ${names}`);
  }
  for (const [name, value] of Object.entries(spec.parameters)) {
    const field = `loss.parameters.${name}`;
    if (!Object.hasOwn(known.defaults, name)) {
      const accepted = Object.keys(known.defaults).join(', ') || 'none';
      throw invalid(field, `is not a parameter of ${known.name}; it accepts ${accepted}`);
    }
    const range = name === 'kl_estimator' ? estimator : atLeastZero;
    if (!range.has(value)) throw invalid(field, `is ${value}; it must be ${range.text}`);
  }
  return { name: known.name, parameters: { ...known.defaults, ...spec.parameters } };
}

/**
 * Fills in Adam's defaults.
 * @throws RuntimeError INVALID for a parameter out of its range
 */
export function resolveAdam(adam: AdamParameters | undefined): ResolvedAdam {
  if (adam === undefined) throw invalid('adam', 'is missing');
  const resolved: ResolvedAdam = {
    learningRate: adam.learningRate,
    beta1: adam.beta1 ?? 0.9,
    beta2: adam.beta2 ?? 0.95,
    epsilon: adam.epsilon ?? 1e-8,
    weightDecay: adam.weightDecay ?? 0,
    gradientClipNorm: adam.gradientClipNorm ?? 1,
  };
  for (const [field, value, range] of [
    ['learning_rate', resolved.learningRate, atLeastZero],
    ['beta1', resolved.beta1, decay],
    ['beta2', resolved.beta2, decay],
    ['epsilon', resolved.epsilon, aboveZero],
    ['weight_decay', resolved.weightDecay, atLeastZero],
    ['gradient_clip_norm', resolved.gradientClipNorm, atLeastZero],
  ] as const) {
    if (!range.has(value)) throw invalid(`adam.${field}`, `is ${value}; it must be ${range.text}`);
  }
  return resolved;
}

interface Range {
  readonly text: string;
  readonly has: (value: number) => boolean;
}

const atLeastZero: Range = {
  text: 'finite and at least 0',
  has: (value) => Number.isFinite(value) && value >= 0,
};
const aboveZero: Range = {
  text: 'finite and above 0',
  has: (value) => Number.isFinite(value) && value > 0,
};
const decay: Range = {
  text: 'at least 0 and below 1',
  has: (value) => value >= 0 && value < 1,
};
const estimator: Range = { text: '1, 2 or 3', has: (value) => [1, 2, 3].includes(value) };
