import * as z from 'zod';
import type { JsonObject } from '../base/json.ts';
import { objectsOf } from '../base/json-access.ts';
import { type ScriptedCall, toolCallWithoutResult } from './scripted-model-request.ts';
import { problemOf } from './scripted-request-problem.ts';

const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('input_text'), text: z.string() }),
  z.looseObject({ type: z.literal('output_text'), text: z.string() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({ type: z.literal('input_image'), image_url: z.string().nullish() }),
]);

const message = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), z.array(part).min(1)]),
});

const item = z.union([
  message,
  z.looseObject({
    type: z.literal('function_call'),
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
  }),
  z.looseObject({
    type: z.literal('function_call_output'),
    call_id: z.string().min(1),
    output: z.union([z.string(), z.array(part)]),
  }),
  z.looseObject({ type: z.literal('reasoning'), summary: z.array(z.looseObject({ text: z.string() })) }),
]);

const schema = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(item).min(1)]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  tools: z
    .array(z.looseObject({ type: z.literal('function'), name: z.string().min(1), parameters: z.unknown().optional() }))
    .optional(),
});

type Item = z.output<typeof item>;

/** Parses the body of a Responses request as strictly as a real server; its input as chat messages. */
export function readResponsesRequest(body: unknown): ScriptedCall | { readonly problem: string } {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return problemOf(parsed.error);
  const { data } = parsed;
  const items: readonly Item[] = typeof data.input === 'string' ? [{ role: 'user', content: data.input }] : data.input;
  const system = data.instructions ? [{ role: 'system', content: data.instructions }] : [];
  const messages: readonly JsonObject[] = [...system, ...inTurns(items)];
  const problem = toolCallWithoutResult(messages);
  if (problem !== null) return { problem };
  return {
    model: data.model,
    messages,
    isStreamed: data.stream ?? false,
    includeUsage: true,
    maxTokens: data.max_output_tokens ?? Number.POSITIVE_INFINITY,
    choices: 1,
    logprobs: false,
    returnTokenIds: false,
  };
}

/** Converts items to chat messages: consecutive function calls belong to one assistant message. */
function inTurns(items: readonly Item[]): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  for (const current of items) {
    if (current.type === 'reasoning') continue;
    if (current.type === 'function_call_output') {
      messages.push({ role: 'tool', tool_call_id: current.call_id, content: contentText(current.output) });
    } else if (current.type === 'function_call') {
      const { call_id: id, name, arguments: said } = current;
      const call = { id, type: 'function', function: { name, arguments: said } };
      const before = messages.at(-1);
      if (before?.role !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] });
      else messages[messages.length - 1] = { ...before, tool_calls: [...objectsOf(before.tool_calls), call] };
    } else {
      messages.push({ role: current.role, content: contentText(current.content) });
    }
  }
  return messages;
}

function contentText(content: string | readonly z.output<typeof part>[]): string {
  if (typeof content === 'string') return content;
  return content.map((one) => ('text' in one ? String(one.text) : `<${one.type}>`)).join('');
}
