/**
 * A model of rules behind OpenAI's API, for the examples: an opponent, or a simulated language model. Its responses have the token
 * ids of the embedded model, so supervised fine-tuning can train on them.
 *
 * @module
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChatMessage, ChatTool } from '@agentlightning/runtime-cpu/internal';
import { renderPrompt } from '@agentlightning/runtime-cpu/internal';
import { z } from 'zod';

/** What the model receives. */
export interface ScriptedRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  /** Names of the tools, in order. */
  readonly tools: readonly string[];
  /** Their descriptions, in the same order; empty without one. */
  readonly toolDescriptions: readonly string[];
}

/** What the model responds: text, a tool call, or both. */
export interface ScriptedReply {
  readonly content?: string;
  readonly call?: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
}

/** A running endpoint. */
export interface ScriptedEndpoint {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
}

const requestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })),
  tools: z
    .array(z.looseObject({ function: z.looseObject({ name: z.string(), description: z.string().default('') }) }))
    .default([]),
});

/** Starts the endpoint on a free port of this machine. It does not keep the process running. */
export async function startScriptedEndpoint(
  respond: (request: ScriptedRequest) => ScriptedReply,
): Promise<ScriptedEndpoint> {
  let responses = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    responses += 1;
    const { status, reply } = handle(request.url ?? '', body, { respond, id: `scripted-${responses}` });
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

interface Script {
  readonly respond: (request: ScriptedRequest) => ScriptedReply;
  readonly id: string;
}

function handle(url: string, body: string, script: Script): { readonly status: number; readonly reply: object } {
  if (url === '/v1/models') return { status: 200, reply: { object: 'list', data: [] } };
  const parsed = requestSchema.safeParse(body === '' ? undefined : JSON.parse(body));
  if (!parsed.success) return { status: 400, reply: { error: { message: 'The request is not a chat completion.' } } };
  const { model, messages, tools } = parsed.data;
  const { content, call } = script.respond({
    model,
    messages: messages.map((message) => ({ role: message.role, content: message.content ?? '' })),
    tools: tools.map((tool) => tool.function.name),
    toolDescriptions: tools.map((tool) => tool.function.description),
  });
  const target = call && { name: call.name, arguments: JSON.stringify(call.arguments) };
  const toolCalls = target && [{ id: `call_${script.id}`, type: 'function' as const, function: target }];
  const message = { role: 'assistant', content: content ?? null, ...(toolCalls && { tool_calls: toolCalls }) };
  const tokens = tokenIds(messages as ChatMessage[], message as ChatMessage, tools as unknown as ChatTool[]);
  const choice = {
    index: 0,
    finish_reason: toolCalls === undefined ? 'stop' : 'tool_calls',
    message,
    token_ids: tokens.response,
    // Rules are deterministic: every token has the probability 1.
    logprobs: { content: tokens.response.map((token) => ({ token: String(token), logprob: 0, top_logprobs: [] })) },
  };
  const [prompt_tokens, completion_tokens] = [tokens.prompt.length, tokens.response.length];
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  const head = { id: script.id, object: 'chat.completion', created: 0, model, prompt_token_ids: tokens.prompt };
  return { status: 200, reply: { ...head, choices: [choice], usage } };
}

/** The tokens of the embedded model's chat template. */
function tokenIds(messages: readonly ChatMessage[], reply: ChatMessage, tools: readonly ChatTool[]) {
  const prompt = renderPrompt(messages, tools);
  return { prompt, response: renderPrompt([...messages, reply], tools).slice(prompt.length, -1) };
}
