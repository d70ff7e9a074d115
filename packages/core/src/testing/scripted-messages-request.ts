import * as z from 'zod';
import type { JsonObject } from '../base/json.ts';
import { type ScriptedCall, toolCallWithoutResult } from './scripted-model-request.ts';
import { problemOf } from './scripted-request-problem.ts';

const text = z.looseObject({ type: z.literal('text'), text: z.string() });

const resultPart = z.discriminatedUnion('type', [text, z.looseObject({ type: z.literal('image') })]);

const block = z.discriminatedUnion('type', [
  text,
  z.looseObject({ type: z.literal('image'), source: z.looseObject({ type: z.string() }) }),
  z.looseObject({ type: z.literal('thinking'), thinking: z.string() }),
  z.looseObject({
    type: z.literal('tool_use'),
    id: z.string().min(1),
    name: z.string().min(1),
    input: z.record(z.string(), z.json()),
  }),
  z.looseObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string().min(1),
    content: z.union([z.string(), z.array(resultPart)]).optional(),
  }),
]);

const message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(block).min(1)]),
});

const schema = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(text)]).optional(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  tools: z.array(z.looseObject({ name: z.string().min(1) })).optional(),
});

type Message = z.output<typeof message>;
type Block = z.output<typeof block>;

/**
 * Parses the body of an Anthropic Messages request as strictly as a real server; its conversation as chat messages, the
 * instructions first.
 */
export function readMessagesRequest(body: unknown): ScriptedCall | { readonly problem: string } {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return problemOf(parsed.error);
  const { data } = parsed;
  const instructions = [
    plainText(data.system ?? ''),
    ...data.messages.filter(({ role }) => role === 'system').map(({ content }) => plainText(content)),
  ].filter((part) => part !== '');
  const messages: readonly JsonObject[] = [
    ...(instructions.length > 0 ? [{ role: 'system', content: instructions.join('\n') }] : []),
    ...data.messages.filter(({ role }) => role !== 'system').flatMap(chatMessages),
  ];
  const problem = toolCallWithoutResult(messages);
  if (problem !== null) return { problem };
  return {
    model: data.model,
    messages,
    isStreamed: data.stream ?? false,
    includeUsage: true,
    maxTokens: data.max_tokens,
    choices: 1,
    logprobs: false,
    returnTokenIds: false,
  };
}

/** Tool results are blocks of a user message here, and messages before it in Chat Completions. */
function chatMessages({ role, content }: Message): readonly JsonObject[] {
  const blocks: readonly Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const results = blocks.flatMap((one) =>
    one.type === 'tool_result'
      ? [{ role: 'tool', tool_call_id: one.tool_use_id, content: plainText(one.content ?? '') }]
      : [],
  );
  const calls = blocks.flatMap((one) =>
    one.type === 'tool_use'
      ? [{ id: one.id, type: 'function', function: { name: one.name, arguments: JSON.stringify(one.input) } }]
      : [],
  );
  const isMessage = calls.length > 0 || blocks.some(({ type }) => type !== 'tool_result');
  if (!isMessage) return results;
  return [...results, { role, content: plainText(blocks), ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

function plainText(content: string | readonly { readonly type: string; readonly text?: unknown }[]): string {
  if (typeof content === 'string') return content;
  return content.map((one) => (one.type === 'text' ? String(one.text) : '')).join('');
}
