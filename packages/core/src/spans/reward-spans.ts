import type { EmittedReward, Reward } from './reward.ts';
import { isRewardNumber, legacyRewardAttribute, legacyRewardSpan } from './reward-range.ts';
import type { Attributes, Span } from './span.ts';
import { agentLightningAttributes, spanNames } from './span-attributes.ts';
import { unflattenAttributes } from './unflatten-attributes.ts';

/** The fields of a span that {@link rewardFromSpan} reads. */
export type RewardSpan = Pick<Span, 'name' | 'attributes' | 'spanId' | 'sequenceId'>;

/** Reward attributes of Python packages before 0.3. */
const legacyNames = {
  span: legacyRewardSpan,
  attribute: legacyRewardAttribute,
  jsonAttributes: ['agentops.task.output', 'agentops.entity.output'],
} as const;

/** Dimension name of a scalar reward. */
export const primaryRewardName = 'primary';

/** The attributes of a reward span: `agentlightning.reward.{i}.name` and `.value`. */
export function rewardAttributes(rewards: readonly Reward[]): Attributes {
  return Object.fromEntries(
    rewards.flatMap(({ name, value }, index) => [
      [`${agentLightningAttributes.reward}.${index}.name`, name],
      [`${agentLightningAttributes.reward}.${index}.value`, value],
    ]),
  );
}

/**
 * The reward that a span records, in the form of `emitReward` or a legacy form of the Python package.
 *
 * @returns null without a reward, or with values out of range
 */
export function rewardFromSpan(span: RewardSpan): EmittedReward | null {
  const rewards = rewardsFromAttributes(span);
  return rewards.length === 0 ? null : { spanId: span.spanId, sequenceId: span.sequenceId, rewards };
}

/** The rewards among an attempt's spans, in order of emission. */
export function findRewards(spans: readonly RewardSpan[]): readonly EmittedReward[] {
  return spans
    .map(rewardFromSpan)
    .filter((reward) => reward !== null)
    .sort((left, right) => left.sequenceId - right.sequenceId);
}

/**
 * The final reward of an attempt: the last emitted one, by sequence id.
 *
 * @returns null without a reward, which is not the same as zero
 *
 * @example
 * ```ts
 * const { items } = await store.querySpans({ rolloutId, attemptId: 'latest' });
 * const reward = findFinalReward(items)?.rewards[0]?.value;
 * ```
 */
export function findFinalReward(spans: readonly RewardSpan[]): EmittedReward | null {
  return findRewards(spans).at(-1) ?? null;
}

function rewardsFromAttributes(span: RewardSpan): readonly Reward[] {
  if (span.name === spanNames.annotation || isRewardOperation(span)) {
    const dimensions = dimensionsOf(span.attributes);
    if (dimensions.length > 0) return dimensions;
  }
  const legacy = legacyValue(span);
  return legacy === null ? [] : [{ name: 'primary', value: legacy }];
}

function isRewardOperation(span: RewardSpan): boolean {
  return (
    span.name === spanNames.operation && span.attributes[agentLightningAttributes.operationName] === legacyNames.span
  );
}

function dimensionsOf(attributes: Attributes): readonly Reward[] {
  const dimensions = unflattenAttributes(attributes, agentLightningAttributes.reward);
  if (!Array.isArray(dimensions)) return [];
  const rewards = dimensions.map((dimension): Reward | null => {
    const { name, value } = typeof dimension === 'object' ? dimension : {};
    return typeof name === 'string' && isRewardNumber(value) ? { name, value } : null;
  });
  // All or nothing: without its first dimension, another one would silently become the primary.
  return rewards.every((reward) => reward !== null) ? rewards : [];
}

function legacyValue(span: RewardSpan): number | null {
  const direct = span.attributes[legacyNames.attribute];
  if (span.name === legacyNames.span && isRewardNumber(direct)) return direct;
  for (const name of legacyNames.jsonAttributes) {
    const value = legacyJsonValue(span.attributes[name]);
    if (value !== null) return value;
  }
  return null;
}

function legacyJsonValue(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  try {
    const output: unknown = JSON.parse(text);
    if (typeof output !== 'object' || output === null) return null;
    const isReward = 'type' in output && output.type === 'reward' && 'value' in output;
    return isReward && isRewardNumber(output.value) ? output.value : null;
  } catch {
    // A task output that is not JSON is not a reward.
    return null;
  }
}
