import type { AdamParameters } from '@agentlightning/core/training-runtime';
import { RejectedRequestError } from '../runtime-errors.ts';

/** Adam's state, one value a parameter, in the parameters' order. */
export interface AdamState {
  /** Running mean of the gradients. */
  readonly firstMoments: Float32Array;
  /** Running mean of their squares. */
  readonly secondMoments: Float32Array;
  /** Steps taken; the bias correction counts from here. */
  readonly step: number;
}

/** The result of a step. */
export interface AdamOutcome {
  /** Global L2 norm of the gradients before clipping. */
  readonly gradientNorm: number;
  /** Global L2 norm of the change of the parameters. */
  readonly updateNorm: number;
}

/** Parameters with all defaults filled in. */
export type ResolvedAdam = Required<AdamParameters>;

/** Fills in defaults and rejects invalid values. */
export function resolveAdam(adam: AdamParameters): ResolvedAdam {
  const resolved = {
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0,
    gradientClipNorm: 1,
    ...adam,
  };
  for (const [name, value] of Object.entries(resolved)) {
    const isBeta = name === 'beta1' || name === 'beta2';
    if (Number.isFinite(value) && value >= 0 && !(isBeta && value >= 1)) continue;
    const expected = isBeta ? 'at least 0 and below 1' : 'a finite number of at least 0';
    throw new RejectedRequestError(`Adam's ${name} is ${value}; it must be ${expected}`);
  }
  return resolved;
}

/** A state before the first step. */
export function initialAdamState(size: number): AdamState {
  return { firstMoments: new Float32Array(size), secondMoments: new Float32Array(size), step: 0 };
}

/** The global L2 norm; not finite when any gradient is not. */
export function globalNorm(gradients: Float32Array): number {
  let squares = 0;
  for (const gradient of gradients) squares += gradient * gradient;
  return Math.sqrt(squares);
}

/**
 * One step of AdamW (Loshchilov & Hutter 2019), in place: parameters and moments change, the gradients do not.
 * Gradients are scaled to the clip norm first when they exceed it.
 */
export function adamStep(
  parameters: Float32Array,
  gradients: Float32Array,
  context: { readonly state: AdamState; readonly adam: ResolvedAdam },
): AdamOutcome {
  const { firstMoments, secondMoments, step } = context.state;
  const { learningRate, beta1, beta2, epsilon, weightDecay, gradientClipNorm } = context.adam;
  const gradientNorm = globalNorm(gradients);
  const isClipped = gradientClipNorm > 0 && gradientNorm > gradientClipNorm;
  const scale = isClipped ? gradientClipNorm / gradientNorm : 1;
  const firstCorrection = 1 - beta1 ** (step + 1);
  const secondCorrection = 1 - beta2 ** (step + 1);
  let squares = 0;
  for (let i = 0; i < parameters.length; i++) {
    const gradient = (gradients[i] as number) * scale;
    const first = beta1 * (firstMoments[i] as number) + (1 - beta1) * gradient;
    const second = beta2 * (secondMoments[i] as number) + (1 - beta2) * gradient * gradient;
    firstMoments[i] = first;
    secondMoments[i] = second;
    const direction = first / firstCorrection / (Math.sqrt(second / secondCorrection) + epsilon);
    const before = parameters[i] as number;
    parameters[i] = before - learningRate * (direction + weightDecay * before);
    squares += ((parameters[i] as number) - before) ** 2;
  }
  return { gradientNorm, updateNorm: Math.sqrt(squares) };
}
