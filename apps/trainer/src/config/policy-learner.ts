import { type AlgorithmOptions, createAlgorithm } from '@agentlightning/algorithms';
import { AgentLightningError, type Algorithm } from '@agentlightning/core';
import { policyKey, type ResolvedPolicy } from './policies.ts';

/**
 * Creates the algorithm of a policy. Named policies learn only from their own model calls.
 *
 * @param model - the name of the model at its endpoint, which its calls are recorded with
 * @param learningRate - the default, which depends on the model
 */
export function learnerOf(policy: ResolvedPolicy, model: string, learningRate?: number): Algorithm | null {
  const { algorithm, name } = policy;
  if (algorithm === null) return null;
  const models = name === null ? {} : { models: [model] };
  if (algorithm.type === 'custom') return createAlgorithm({ ...algorithm, ...models });
  return createAlgorithm({ ...(learningRate === undefined ? {} : { learningRate }), ...algorithm, ...models });
}

/** Algorithms that learn from messages alone. */
const messageAlgorithms: readonly AlgorithmOptions['type'][] = ['sft', 'rejection-sampling', 'dpo', 'kto', 'custom'];

/** Whether an algorithm needs the log-probabilities at sampling: those of the policy-gradient family do. */
export function needsSamplingLogprobs({ type }: AlgorithmOptions): boolean {
  return !messageAlgorithms.includes(type);
}

/** Whether a policy's algorithm trains a value head. */
export function needsValueHead(policy: ResolvedPolicy): boolean {
  return learnerOf(policy, policyKey(policy))?.needsValueHead === true;
}

/**
 * The group size, which is common to all policies of a run: they share rollouts.
 *
 * @throws AgentLightningError CONFIG when their group sizes differ
 */
export function groupSizeOf(policies: readonly ResolvedPolicy[]): number {
  const sizes = policies.flatMap((policy) => {
    const groupSize = learnerOf(policy, policyKey(policy))?.groupSize;
    return groupSize === undefined ? [] : [{ name: policyKey(policy), groupSize }];
  });
  const [first] = sizes;
  if (sizes.every(({ groupSize }) => groupSize === first?.groupSize)) return first?.groupSize ?? 1;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `policies share rollouts, but their algorithms have different group sizes: ${sizes
      .map(({ name, groupSize }) => `${name} ${groupSize}`)
      .join(', ')}`,
    remedy: 'Set the same `groupSize` for each.',
  });
}
