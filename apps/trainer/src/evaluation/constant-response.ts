import type { Span } from '@agentlightning/core';
import type { ConstantResponse } from '@agentlightning/core/protocol';
import { traceSteps, walkSteps } from '@agentlightning/trace';
import type { StoredEvaluation } from '../run/stored-evaluation.ts';

/** Longest response, in characters, that several tasks may have in common. */
const maxLength = 200;

/** The text of the last model call of an attempt; null without one, and for a long one. */
export function lastResponse(spans: readonly Span[]): string | null {
  const calls = walkSteps(traceSteps(spans)).flatMap(({ step }) => (step.kind === 'model-call' ? [step] : []));
  const [last] = calls.toSorted((one, other) => other.sequenceId - one.sequenceId);
  const parts = (last?.outputMessages[0]?.parts ?? []).filter(({ type }) => type !== 'reasoning');
  const text = parts
    .map((part) => part.text)
    .join('\n')
    .trim();
  return text === '' || text.length > maxLength ? null : text;
}

/**
 * The response with the highest mean reward if it were given to every task. A task counts with the reward that the response
 * had in one of the evaluations, and 0 where it was not seen: the true mean may be higher.
 *
 * @returns null unless a response was given to two tasks
 */
export function bestConstantResponse(evaluations: readonly StoredEvaluation[]): ConstantResponse | null {
  const rewards = new Map<string, Map<number, number>>();
  let tasks = 0;
  for (const { rewards: measured, responses = [], rolloutsPerTask } of evaluations) {
    tasks = Math.max(tasks, Math.ceil(measured.length / rolloutsPerTask));
    for (const [index, response] of responses.entries()) {
      const reward = measured[index] ?? null;
      if (response === null || reward === null) continue;
      const byTask = rewards.get(response) ?? new Map<number, number>();
      byTask.set(Math.floor(index / rolloutsPerTask), reward);
      rewards.set(response, byTask);
    }
  }
  let best: ConstantResponse | null = null;
  for (const [text, byTask] of rewards) {
    if (byTask.size < 2) continue;
    const reward = [...byTask.values()].reduce((sum, value) => sum + value, 0) / tasks;
    if (best === null || reward > best.reward) best = { text, reward, seenShare: byTask.size / tasks };
  }
  return best;
}
