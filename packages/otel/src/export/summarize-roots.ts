import type { Attributes, AttributeValue, JsonObject, JsonValue, Span } from '@agentlightning/core';
import { genAiAttributes, isJsonObject } from '@agentlightning/core/internal';
import { findRewards, spanNames } from '@agentlightning/core/spans';

/** Maximum characters of a trace's name. */
const maxNameLength = 80;

/** A reward of an attempt. */
export interface AttemptScore {
  readonly traceId: string;
  /** The root span. */
  readonly spanId: string;
  readonly name: string;
  readonly value: number;
}

/**
 * Adds to the root span of each attempt what the list views of other tools show: a name, input and output, and the rewards as
 * attributes that can be filtered by. The input is the first message of the user, the output the last one of a model.
 *
 * @param spans - complete attempts
 * @param hasContent - whether texts are exported
 */
export function summarizeRoots(spans: readonly Span[], hasContent: boolean): readonly Span[] {
  const summaries = new Map<string, Span>();
  for (const attempt of byAttempt(spans)) {
    const root = rootOf(attempt);
    if (root !== null) summaries.set(root.spanId, summarized(root, attempt, hasContent));
  }
  return spans.map((span) => summaries.get(span.spanId) ?? span);
}

function byAttempt(spans: readonly Span[]): Iterable<readonly Span[]> {
  return Map.groupBy(spans, ({ rolloutId, attemptId }) => JSON.stringify([rolloutId, attemptId])).values();
}

/** The runner's span of the attempt; else the first span without a parent. */
function rootOf(spans: readonly Span[]): Span | null {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const roots = spans.filter(({ parentId }) => parentId === null || !ids.has(parentId));
  const first = roots.toSorted((one, other) => (one.startTimeMs ?? 0) - (other.startTimeMs ?? 0))[0];
  return roots.find(({ name }) => name === spanNames.rollout) ?? first ?? null;
}

function summarized(root: Span, spans: readonly Span[], hasContent: boolean): Span {
  const calls = spans.filter(({ attributes }) => attributes[genAiAttributes.requestModel] !== undefined);
  const ordered = calls.toSorted((one, other) => (one.startTimeMs ?? 0) - (other.startTimeMs ?? 0));
  const input = textOf(ordered[0]?.attributes[genAiAttributes.inputMessages], 'first-user');
  const output = textOf(ordered.at(-1)?.attributes[genAiAttributes.outputMessages], 'last');
  const name = hasContent && input !== null ? nameFrom(input) : `${root.name} ${root.rolloutId}`;
  return {
    ...root,
    name: root.name === spanNames.rollout ? name : root.name,
    attributes: {
      ...root.attributes,
      'langfuse.trace.name': name,
      'openinference.span.kind': 'AGENT',
      ...(hasContent ? textAttributes(input, output) : {}),
      ...rewardAttributes(spans),
    },
  };
}

function nameFrom(input: string): string {
  const line = input.trim().replaceAll(/\s+/g, ' ');
  return line.length > maxNameLength ? `${line.slice(0, maxNameLength - 1)}…` : line;
}

/** Input and output by the names of OpenInference (Phoenix), Langfuse and MLflow. */
function textAttributes(input: string | null, output: string | null): Attributes {
  return {
    ...(input === null
      ? {}
      : { 'input.value': input, 'langfuse.trace.input': input, 'mlflow.spanInputs': JSON.stringify(input) }),
    ...(output === null
      ? {}
      : { 'output.value': output, 'langfuse.trace.output': output, 'mlflow.spanOutputs': JSON.stringify(output) }),
  };
}

/** The rewards of each attempt, as scores of its trace and root span. */
export function attemptScores(spans: readonly Span[]): readonly AttemptScore[] {
  return [...byAttempt(spans)].flatMap((attempt) => {
    const root = rootOf(attempt);
    if (root === null) return [];
    const { traceId, spanId } = root;
    return [...rewardsOf(attempt)].map(([name, value]) => ({ traceId, spanId, name, value }));
  });
}

function rewardAttributes(spans: readonly Span[]): Attributes {
  const attributes: Record<string, number> = {};
  for (const [name, value] of rewardsOf(spans)) {
    attributes[name] = value;
    attributes[`langfuse.trace.metadata.${name.replace('.', '_')}`] = value;
  }
  return attributes;
}

/** The last value of each dimension of the reward: `reward`, and `reward.<name>` for the others. */
function rewardsOf(spans: readonly Span[]): ReadonlyMap<string, number> {
  const rewards = findRewards(spans).flatMap((emitted) => emitted.rewards);
  return new Map(rewards.map(({ name, value }) => [name === 'primary' ? 'reward' : `reward.${name}`, value]));
}

/** The text of a message in the form of the GenAI conventions. */
function textOf(value: AttributeValue | undefined, which: 'first-user' | 'last'): string | null {
  const messages = messagesOf(value);
  const message = which === 'last' ? messages.at(-1) : (messages.find(({ role }) => role === 'user') ?? messages[0]);
  const parts = Array.isArray(message?.parts) ? message.parts : [];
  const texts = parts.flatMap((part: JsonValue) => (isJsonObject(part) ? [partText(part)] : []));
  const text = texts.filter((one) => one !== '').join('\n');
  return text === '' ? null : text;
}

function partText({ type, content, name, arguments: given }: JsonObject): string {
  if (type === 'text' && typeof content === 'string') return content;
  if (type === 'tool_call')
    return `${String(name)}(${typeof given === 'string' ? given : JSON.stringify(given ?? {})})`;
  return '';
}

function messagesOf(value: AttributeValue | undefined): readonly JsonObject[] {
  if (typeof value !== 'string') return [];
  try {
    const messages: JsonValue = JSON.parse(value);
    return Array.isArray(messages) ? messages.filter(isJsonObject) : [];
  } catch {
    return [];
  }
}
