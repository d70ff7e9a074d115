import * as z from 'zod';
import type { JsonObject } from '../base/json.ts';
import { objectsOf } from '../base/json-access.ts';
import { problemOf } from './scripted-request-problem.ts';

const toolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
});

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() })).min(1)]);

const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content }),
  z.looseObject({ role: z.literal('developer'), content }),
  z.looseObject({ role: z.literal('user'), content }),
  z
    .looseObject({
      role: z.literal('assistant'),
      content: content.nullish(),
      tool_calls: z.array(toolCall).min(1).optional(),
    })
    .refine((value) => typeof value.content === 'string' || Array.isArray(value.content) || value.tool_calls, {
      message: "an assistant message needs 'content' or 'tool_calls'",
    }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string().min(1) }),
]);

const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1), parameters: z.record(z.string(), z.json()).optional() }),
});

const schema = z
  .looseObject({
    model: z.string().min(1),
    messages: z.array(message).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().gt(0).max(1).nullish(),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    n: z.int().min(1).max(128).nullish(),
    seed: z.int().nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    return_token_ids: z.boolean().nullish(),
    tools: z.array(tool).min(1).optional(),
  })
  .refine((value) => value.stream || !value.stream_options, {
    path: ['stream_options'],
    message: 'only allowed when stream is true',
  });

/** The fields of a request that determine its response. */
export interface ScriptedCall {
  readonly model: string;
  readonly messages: readonly JsonObject[];
  readonly isStreamed: boolean;
  readonly includeUsage: boolean;
  readonly maxTokens: number;
  readonly choices: number;
  readonly logprobs: boolean;
  readonly returnTokenIds: boolean;
}

/** Parses a request body as strictly as a real server. */
export function readRequest(body: unknown): ScriptedCall | { readonly problem: string } {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return problemOf(parsed.error);
  const { data } = parsed;
  const messages = data.messages as unknown as readonly JsonObject[];
  const problem = toolCallWithoutResult(messages);
  if (problem !== null) return { problem };
  return {
    model: data.model,
    messages,
    isStreamed: data.stream ?? false,
    includeUsage: data.stream_options?.include_usage ?? false,
    maxTokens: data.max_completion_tokens ?? data.max_tokens ?? Number.POSITIVE_INFINITY,
    choices: data.n ?? 1,
    logprobs: data.logprobs ?? false,
    returnTokenIds: data.return_token_ids ?? false,
  };
}

/** Tool results must match the calls of the preceding assistant message, and all calls need a result. */
export function toolCallWithoutResult(messages: readonly JsonObject[]): string | null {
  let pending = new Set<string>();
  for (const [index, current] of messages.entries()) {
    if (current.role === 'tool') {
      if (!pending.delete(String(current.tool_call_id))) {
        return `messages.${index}: tool_call_id ${current.tool_call_id} matches no tool call before it`;
      }
      continue;
    }
    if (pending.size > 0) return `messages.${index}: tool calls without a result: ${[...pending].join(', ')}`;
    if (current.role === 'assistant') pending = new Set(objectsOf(current.tool_calls).map((call) => String(call.id)));
  }
  return pending.size > 0 ? `messages: tool calls without a result: ${[...pending].join(', ')}` : null;
}
