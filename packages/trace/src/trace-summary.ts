import { quantityText } from '@agentlightning/core/internal';
import type { TraceStep } from './trace-step.ts';
import { walkSteps } from './walk-steps.ts';

/**
 * The totals of a trace in one line: model calls, tool calls, response tokens, and the primary value of the last
 * reward.
 *
 * Tool calls are those that adapters recorded as steps, and those in model responses that no step records.
 */
export function traceSummary(roots: readonly TraceStep[]): string {
  const steps = walkSteps(roots).map(({ step }) => step);
  const modelCalls = steps.filter(({ kind }) => kind === 'model-call').length;
  const responseTokens = steps.reduce((sum, { tokens }) => sum + (tokens?.response ?? 0), 0);
  const reward = steps.findLast(({ rewards }) => rewards.length > 0)?.rewards[0];
  return [
    quantityText(modelCalls, 'model call'),
    quantityText(countToolCalls(steps), 'tool call'),
    quantityText(responseTokens, 'response token'),
    reward === undefined ? 'no reward' : `reward ${reward.value}`,
  ].join(' · ');
}

function countToolCalls(steps: readonly TraceStep[]): number {
  const executed = steps.filter(({ kind }) => kind === 'tool-call');
  const parts = steps.flatMap(({ outputMessages }) => outputMessages.flatMap((message) => message.parts));
  const requested = parts.flatMap(({ toolCall }) => (toolCall === undefined ? [] : [toolCall]));
  const executedIds = new Set(executed.flatMap(({ toolCallId }) => (toolCallId === null ? [] : [toolCallId])));
  const unmatched = requested.filter(({ id }) => id === null || !executedIds.has(id));
  // Adapters that do not record call ids are matched by the name of the tool.
  const executedByName = countBy(executed.filter(({ toolCallId }) => toolCallId === null).map(({ title }) => title));
  const requestedByName = countBy(unmatched.map(({ name }) => name));
  const unrecorded = [...requestedByName].map(([name, count]) => Math.max(0, count - (executedByName.get(name) ?? 0)));
  return unrecorded.reduce((sum, count) => sum + count, executed.length);
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
