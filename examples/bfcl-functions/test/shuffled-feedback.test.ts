import { sdpo } from '@agentlightning/algorithms';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import { aRollout, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { shuffledFeedback } from '../shuffled-feedback.ts';

/** Rollouts with the given messages; null for one without. */
function group(groupId: string, messages: readonly (string | null)[]): CollectedGroup {
  return {
    groupId,
    rollouts: messages.map((message, index) => {
      const rolloutId = `${groupId}-${index}`;
      const attributes = message === null ? {} : { [agentLightningAttributes.messageBody]: message };
      return { rollout: aRollout({ rolloutId }), attemptId: 'at-1', spans: [aSpan({ rolloutId, attributes })] };
    }),
  };
}

function messagesOf(groups: readonly CollectedGroup[]): readonly (string | null)[] {
  return groups.flatMap(({ rollouts }) =>
    rollouts.map(({ spans }) => (spans[0]?.attributes[agentLightningAttributes.messageBody] as string) ?? null),
  );
}

test('every message is read by another rollout, and always by the same one', () => {
  const seen: (readonly CollectedGroup[])[] = [];
  const algorithm = shuffledFeedback({
    ...sdpo(),
    teacherPrompts: (groups) => {
      seen.push(groups);
      return [];
    },
  });
  const groups = [group('one', ['a', null, 'b']), group('other', ['c', 'd', null])];
  algorithm.teacherPrompts?.(groups);
  algorithm.teacherPrompts?.(groups);
  const [first, second] = seen.map(messagesOf);
  expect(second).toEqual(first);
  expect(first?.map((message) => message === null)).toEqual([false, true, false, false, false, true]);
  expect(first?.toSorted()).toEqual(['a', 'b', 'c', 'd', null, null]);
  expect(messagesOf(groups).filter((message, index) => message !== null && message === first?.[index])).toEqual([]);
});
