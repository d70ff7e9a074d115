import { createHash } from 'node:crypto';
import type { Algorithm } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { agentLightningAttributes } from '@agentlightning/core/spans';

/**
 * An algorithm that reads the messages of rollouts exchanged between them: a control, whose feedback has the same distribution and does
 * not depend on the response. The exchange is a function of the rollout ids, so a resumed run has the same one.
 */
export function shuffledFeedback(algorithm: Algorithm): Algorithm {
  return {
    ...algorithm,
    teacherPrompts: (groups) => algorithm.teacherPrompts?.(exchanged(groups)) ?? [],
    scoring: (groups, context) => algorithm.scoring?.(exchanged(groups), context) ?? null,
    planStep: (groups, context) => algorithm.planStep(exchanged(groups), context),
  };
}

const key = agentLightningAttributes.messageBody;

/** Each rollout with a message has that of the next one, in the order of their digests. */
function exchanged(groups: readonly CollectedGroup[]): readonly CollectedGroup[] {
  const owners = groups
    .flatMap(({ rollouts }) => rollouts)
    .filter(({ spans }) => spans.some(({ attributes }) => attributes[key] !== undefined))
    .toSorted((one, other) => (digest(one.rollout.rolloutId) < digest(other.rollout.rolloutId) ? -1 : 1));
  const messages = owners.map(
    ({ spans }) => spans.find(({ attributes }) => attributes[key] !== undefined)?.attributes[key],
  );
  return groups.map((group) => ({
    ...group,
    rollouts: group.rollouts.map((collected) => {
      const message = messages[(owners.indexOf(collected) + 1) % messages.length];
      if (message === undefined) return collected;
      const spans = collected.spans.map((span) =>
        span.attributes[key] === undefined ? span : { ...span, attributes: { ...span.attributes, [key]: message } },
      );
      return { ...collected, spans };
    }),
  }));
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
