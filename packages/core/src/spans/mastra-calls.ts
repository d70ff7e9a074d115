import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, objectsOf, parseObject, textOf } from '../base/json-access.ts';
import type { Span } from './span.ts';
import { genAiAttributes } from './span-attributes.ts';

/** The kinds of spans of Mastra's exporter. */
const kindName = 'mastra.span.type';

/**
 * Adds the conversations to the model calls of Mastra's exporter. It records the messages of a generation once, and for the calls of its
 * steps only a preview, in which calls of tools are missing. The messages of a call follow from those of the generation, the responses of
 * the steps before it and the results of their tools. A call that follows a tool without a recorded result stays as it is.
 */
export function withMastraConversations(spans: readonly Span[]): readonly Span[] {
  const generations = spans.filter(({ attributes }) => attributes[kindName] === 'model_generation');
  if (generations.length === 0) return spans;
  const completed = new Map(
    generations.flatMap((generation) => callsOf(generation, spans)).map((call) => [call.spanId, call]),
  );
  return spans.map((span) => completed.get(span.spanId) ?? span);
}

/** The calls of a generation, each with its messages and its response. */
function callsOf({ spanId, attributes }: Span, spans: readonly Span[]): readonly Span[] {
  const input = parseObject(textOf(attributes['mastra.model_generation.input']) ?? '');
  let messages = objectsOf(input?.messages);
  const calls: Span[] = [];
  if (messages.length === 0) return calls;
  const steps = childrenOf(spanId, spans).filter((span) => span.attributes[kindName] === 'model_step');
  for (const step of steps.toSorted((one, other) => indexOf(one) - indexOf(other))) {
    const within = childrenOf(step.spanId, spans);
    const reply = replyOf(step);
    const call = within.find((span) => span.attributes[kindName] === 'model_inference');
    if (call !== undefined && !(genAiAttributes.inputMessages in call.attributes)) {
      calls.push({ ...call, attributes: { ...call.attributes, ...conversation(messages, reply) } });
    }
    const results = resultsOf(reply, within);
    if (results === null) break;
    messages = [...messages, reply, ...results];
  }
  return calls;
}

function conversation(messages: readonly JsonObject[], reply: JsonObject): Readonly<Record<string, string>> {
  return {
    [genAiAttributes.inputMessages]: JSON.stringify(messages),
    [genAiAttributes.outputMessages]: JSON.stringify([reply]),
  };
}

/** The response of a step: that of its call has no calls of tools. */
function replyOf({ attributes }: Span): JsonObject {
  const { text, toolCalls } = parseObject(textOf(attributes['mastra.model_step.output']) ?? '') ?? {};
  const calls = objectsOf(toolCalls).map(({ toolCallId: id = null, toolName: name = null, args = {} }) => ({
    type: 'tool_call',
    id,
    name,
    arguments: args,
  }));
  const written = typeof text === 'string' && text !== '' ? [{ type: 'text', content: text }] : [];
  return { role: 'assistant', parts: [...written, ...calls] };
}

/** The results of the tools that a response has called; null where one is missing. */
function resultsOf({ parts }: JsonObject, within: readonly Span[]): readonly JsonObject[] | null {
  const calls = objectsOf(parts).filter(({ type }) => type === 'tool_call');
  const results = calls.map(({ id }): JsonObject | null => {
    const tool = within.find(({ attributes }) => attributes['gen_ai.tool.call.id'] === id);
    const response: JsonValue | null = textOf(tool?.attributes['gen_ai.tool.call.result']);
    return response === null
      ? null
      : { role: 'tool', parts: [{ type: 'tool_call_response', id: id ?? null, response }] };
  });
  return results.every(isObject) ? results : null;
}

function childrenOf(spanId: string, spans: readonly Span[]): readonly Span[] {
  return spans.filter(({ parentId }) => parentId === spanId);
}

function indexOf({ attributes }: Span): number {
  return Number(attributes['mastra.model_step.step_index'] ?? 0);
}
