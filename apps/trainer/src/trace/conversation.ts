import type { Span } from '@agentlightning/core';
import { findFinalReward } from '@agentlightning/core/spans';
import {
  finalCalls,
  type TraceMessage,
  type TraceMessagePart,
  type TraceStep,
  terminalText,
  traceSteps,
  walkSteps,
} from '@agentlightning/trace';

/** The primary dimension of an attempt's final reward; null when it has none. */
export function primaryReward(spans: readonly Span[]): number | null {
  return findFinalReward(spans)?.rewards[0]?.value ?? null;
}

/**
 * The conversations of an attempt as lines of text, and its reward. A conversation is a model call that no later call continues:
 * its request has the earlier turns. Agents that run in parallel have one each.
 */
export function conversationLines(spans: readonly Span[]): string[] {
  const calls = walkSteps(traceSteps(spans))
    .map(({ step }) => step)
    .filter(({ kind }) => kind === 'model-call')
    .sort((one, other) => one.sequenceId - other.sequenceId);
  if (calls.length === 0) return ['(no model call)'];
  const conversations = finalCalls(calls);
  const reward = primaryReward(spans);
  return [
    ...conversations.flatMap((call, index) => [
      ...(conversations.length === 1 ? [] : [headerLine(call, index + 1, conversations.length)]),
      ...callLines(call),
      ...(conversations.length === 1 ? [] : ['']),
    ]),
    reward === null ? 'no reward' : `reward ${reward}`,
  ];
}

function headerLine({ agentPath, title }: TraceStep, number: number, count: number): string {
  const agent = agentPath.length === 0 ? '' : `${agentPath.join(' › ')}, `;
  return terminalText(`conversation ${number} of ${count} (${agent}model ${title})`);
}

function callLines({ inputMessages, outputMessages, error }: TraceStep): readonly string[] {
  const choices = outputMessages.map((message, index) => {
    return messageLine(
      message,
      outputMessages.length === 1 ? '' : `[choice ${index + 1} of ${outputMessages.length}] `,
    );
  });
  const failure = error === null ? [] : [terminalText(`error     ${error}`)];
  return [...inputMessages.map((message) => messageLine(message, '')), ...choices, ...failure];
}

function messageLine({ role, parts }: TraceMessage, label: string): string {
  const shown = parts.filter(({ type }) => type !== 'reasoning');
  return terminalText(`${role.padEnd(9)} ${label}${shown.map(partText).join('\n')}`).trimEnd();
}

function partText({ type, text }: TraceMessagePart): string {
  if (type === 'tool-call') return `→ ${text}`;
  return type === 'attachment' ? `[${text || 'attachment'}]` : text;
}
