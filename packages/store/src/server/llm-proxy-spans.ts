import type { JsonObject, JsonValue } from '@agentlightning/core';
import { genAiAttributes, isJsonObject, modelCallAttributes, parseJsonObject } from '@agentlightning/core/internal';
import { spanNames } from '@agentlightning/core/spans';
import type { Hono } from 'hono';

/** Path before that of the protocol, for clients of Python's adapters: `http://localhost:4747/llm-proxy`. */
const prefix = '/llm-proxy';

/**
 * Adds the protocol a second time below `/llm-proxy`: there, recorded model calls are read with the name and attributes that
 * the spans of Python's LLM proxy have, which its adapters `TraceToMessages` and `LlmProxyTraceToTriplet` expect.
 */
export function addLlmProxyReads(app: Hono): void {
  app.all(`${prefix}/*`, async (context) => {
    const { url, method, headers, body, signal } = context.req.raw;
    const inner = new URL(url);
    inner.pathname = inner.pathname.slice(prefix.length);
    const init = { method, headers, body, signal, duplex: 'half' as const };
    const response = await app.fetch(new Request(inner, init), context.env);
    const isSpanList = method === 'GET' && inner.pathname.endsWith('/spans') && response.status === 200;
    if (!isSpanList) return response;
    const page = parseJsonObject(await response.text()) ?? {};
    const items = Array.isArray(page.items)
      ? page.items.map((span) => (isJsonObject(span) ? llmProxySpan(span) : span))
      : [];
    return Response.json({ ...page, items }, { status: 200 });
  });
}

/** A span of the wire format as Python's LLM proxy records it; the same span unless it is a model call. */
export function llmProxySpan(span: JsonObject): JsonObject {
  const { attributes, name } = span;
  if (name !== spanNames.modelCall || !isJsonObject(attributes)) return span;
  const request = parseJsonObject(String(attributes[modelCallAttributes.requestBody] ?? '')) ?? {};
  const response = parseJsonObject(String(attributes[modelCallAttributes.responseBody] ?? '')) ?? {};
  const [choice] = objectsOf(response.choices);
  const reply = isJsonObject(choice?.message)
    ? [{ ...choice.message, finish_reason: choice.finish_reason ?? null }]
    : [];
  return {
    ...span,
    name: 'raw_gen_ai_request',
    attributes: {
      ...attributes,
      ...Object.assign({}, ...objectsOf(request.messages).map((one, at) => messageFields(`gen_ai.prompt.${at}`, one))),
      ...Object.assign({}, ...reply.map((one, at) => messageFields(`gen_ai.completion.${at}`, one))),
      ...Object.assign({}, ...objectsOf(request.tools).map((tool, at) => functionFields(tool, at))),
      ...tokenFields(attributes),
    },
  };
}

function tokenFields(attributes: JsonObject): JsonObject {
  const prompt = attributes[modelCallAttributes.promptTokenIds];
  const response = attributes[modelCallAttributes.responseTokenIds];
  const id = attributes[genAiAttributes.responseId];
  return {
    ...(prompt === undefined ? {} : { 'llm.hosted_vllm.prompt_token_ids': JSON.stringify(prompt) }),
    ...(response === undefined ? {} : { 'llm.hosted_vllm.response_token_ids': JSON.stringify([response]) }),
    ...(id === undefined ? {} : { 'llm.hosted_vllm.id': id }),
  };
}

function messageFields(path: string, message: JsonObject): JsonObject {
  const { role, content, tool_call_id: id, finish_reason: finishReason, tool_calls: calls } = message;
  const fields: Record<string, JsonValue> = { [`${path}.role`]: role ?? 'assistant' };
  // Messages without text, such as those with tool calls only, have an empty one there.
  if (content !== undefined && content !== null) fields[`${path}.content`] = textOf(content);
  if (typeof id === 'string') fields[`${path}.tool_call_id`] = id;
  if (typeof finishReason === 'string') fields[`${path}.finish_reason`] = finishReason;
  for (const [at, call] of objectsOf(calls).entries()) {
    const { name, arguments: text } = isJsonObject(call.function) ? call.function : {};
    fields[`${path}.tool_calls.${at}.id`] = call.id ?? '';
    fields[`${path}.tool_calls.${at}.name`] = name ?? '';
    fields[`${path}.tool_calls.${at}.arguments`] = text ?? '';
  }
  return fields;
}

function functionFields(tool: JsonObject, at: number): JsonObject {
  const { name, description, parameters } = isJsonObject(tool.function) ? tool.function : {};
  const path = `gen_ai.request.functions.${at}`;
  return {
    [`${path}.name`]: name ?? '',
    [`${path}.description`]: description ?? '',
    [`${path}.parameters`]: JSON.stringify(parameters ?? { type: 'object', properties: {} }),
  };
}

function textOf(content: JsonValue): string {
  if (typeof content === 'string') return content;
  const texts = objectsOf(content).map(({ text }) => text);
  const isText = texts.length > 0 && texts.every((text) => typeof text === 'string');
  return isText ? texts.join('') : JSON.stringify(content);
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
