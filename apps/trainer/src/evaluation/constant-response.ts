import type { Span } from '@agentlightning/core';
import type { ConstantResponse } from '@agentlightning/core/protocol';
import { traceSteps, walkSteps } from '@agentlightning/trace';
import type { MeasuredRewards } from '../run/stored-evaluation.ts';

/** Longest response, in characters, that several tasks may have in common. */
const maxLength = 200;

/** The text of the last model call of an attempt; null without one, and for a long one. */
export function lastResponse(spans: readonly Span[]): string | null {
  const text = lastText(spans);
  return text === '' || text.length > maxLength ? null : text;
}

/** The text of the last model call of an attempt; empty without one. */
export function lastText(spans: readonly Span[]): string {
  const calls = walkSteps(traceSteps(spans)).flatMap(({ step }) => (step.kind === 'model-call' ? [step] : []));
  const [last] = calls.toSorted((one, other) => other.sequenceId - one.sequenceId);
  const parts = (last?.outputMessages[0]?.parts ?? []).filter(({ type }) => type !== 'reasoning');
  return parts
    .map((part) => part.text)
    .join('\n')
    .trim();
}

/**
 * The response with the highest mean reward if it were given to every task. A task counts with the reward that the response
 * had in one of the evaluations, and 0 where it was not seen: the true mean may be higher. Responses that differ in case and
 * spacing also count as one, each task with the lowest reward of its forms.
 *
 * @returns null unless a response was given to two tasks
 */
export function bestConstantResponse(evaluations: readonly MeasuredRewards[]): ConstantResponse | null {
  const exact = bestOf(evaluations, sameText);
  const alike = bestOf(evaluations, alikeTexts);
  return exact === null || (alike !== null && alike.reward > exact.reward) ? alike : exact;
}

/** A response without case, and without the spaces that JSON may have between its tokens. */
function normalised(response: string): string {
  return compactJson(response).toLowerCase().replaceAll(/\s+/g, ' ');
}

function compactJson(text: string): string {
  if (!text.startsWith('{') && !text.startsWith('[')) return text;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Which responses count as one, and which reward they have for a task. */
interface Likeness {
  readonly keyOf: (response: string) => string;
  readonly combine: (known: number, reward: number) => number;
}

const sameText: Likeness = { keyOf: (response) => response, combine: (_known, reward) => reward };
const alikeTexts: Likeness = { keyOf: normalised, combine: Math.min };

function bestOf(evaluations: readonly MeasuredRewards[], { keyOf, combine }: Likeness): ConstantResponse | null {
  const texts = new Map<string, string>();
  const rewards = new Map<string, Map<number, number>>();
  let tasks = 0;
  for (const { rewards: measured, responses = [], rolloutsPerTask } of evaluations) {
    tasks = Math.max(tasks, Math.ceil(measured.length / rolloutsPerTask));
    for (const [index, response] of responses.entries()) {
      const reward = measured[index] ?? null;
      if (response === null || reward === null) continue;
      const key = keyOf(response);
      const byTask = rewards.get(key) ?? new Map<number, number>();
      const task = Math.floor(index / rolloutsPerTask);
      byTask.set(task, combine(byTask.get(task) ?? reward, reward));
      texts.set(key, texts.get(key) ?? response);
      rewards.set(key, byTask);
    }
  }
  let best: ConstantResponse | null = null;
  for (const [key, byTask] of rewards) {
    if (byTask.size < 2) continue;
    const reward = [...byTask.values()].reduce((sum, value) => sum + value, 0) / tasks;
    if (best === null || reward > best.reward)
      best = { text: texts.get(key) ?? key, reward, seenShare: byTask.size / tasks };
  }
  return best;
}
