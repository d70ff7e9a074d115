import { type JsonObject, type JsonValue, modelCallFromSpan, type Span } from '@agentlightning/core';
import { terminalText } from '@agentlightning/trace';
import { primaryReward } from './primary-reward.ts';

/**
 * The conversation of a rollout as lines of text: the messages of its last model call, that call's
 * answer, and the reward.
 */
export function conversationLines(spans: readonly Span[]): string[] {
  const calls = spans.map(modelCallFromSpan).filter((call) => call !== null);
  const last = calls.at(-1);
  if (last === undefined) return ['(no model call)'];
  const asked = asArray(last.request?.['messages']).map(messageLine);
  const answers = asArray(last.response?.['choices']).map((choice) =>
    messageLine(asObject(choice)?.['message'] ?? null),
  );
  const reward = primaryReward(spans);
  return [...asked, ...answers, reward === null ? 'no reward' : `reward ${reward}`];
}

function messageLine(message: JsonValue): string {
  const fields = asObject(message);
  if (fields === null) return '(nothing)';
  const role = String(fields['role'] ?? 'assistant').padEnd(9);
  const calls = asArray(fields['tool_calls']).map((call) => {
    const called = asObject(asObject(call)?.['function'] ?? null);
    return `→ ${String(called?.['name'] ?? '?')}(${String(called?.['arguments'] ?? '')})`;
  });
  const said = [contentText(fields['content']), ...calls].filter((part) => part !== '').join(' ');
  return terminalText(`${role} ${said}`).trimEnd();
}

/** What is said: text as it is, also in parts as LangChain writes a system message; of anything else only what it is. */
function contentText(content: JsonValue | undefined): string {
  if (Array.isArray(content)) return content.map(partText).join('\n');
  return content === null || content === undefined ? '' : partText(content);
}

function partText(part: JsonValue): string {
  const fields = asObject(part);
  if (fields === null) return String(part);
  const text = fields['text'] ?? fields['refusal'];
  return typeof text === 'string' ? text : `[${String(fields['type'] ?? 'something')}]`;
}

function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

function asArray(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
