import { AgentLightningError, currentRollout, type JsonObject } from '@agentlightning/core';
import { redirectedFetch } from '@agentlightning/core/adapter';
import { parse } from '@agentlightning/core/internal';
import { z } from 'zod';

/** A tool call of the model; its arguments are text that may be invalid JSON. */
export interface ModelToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message of the model, with further fields such as its reasoning. */
export interface ChatMessage {
  readonly content?: string | null | undefined;
  readonly tool_calls?: readonly ModelToolCall[] | null | undefined;
}

const toolCall: z.ZodType<ModelToolCall> = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message: z.ZodType<ChatMessage> = z.looseObject({
  content: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});

const completion: z.ZodType<{ readonly choices: readonly { readonly message: ChatMessage }[] }> = z.looseObject({
  choices: z.array(z.looseObject({ message })).min(1),
});

const send = redirectedFetch();

/**
 * Calls the model of the current rollout.
 *
 * @throws AgentLightningError OUTSIDE_ROLLOUT without a rollout that has a model; UPSTREAM_FAILED for an error response
 */
export async function callModel(request: JsonObject): Promise<ChatMessage> {
  const rollout = currentRollout();
  const endpoint = rollout?.endpoint ?? null;
  if (rollout === null || endpoint === null) throw noModel();
  const response = await send(`${endpoint.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: endpoint.model, ...request }),
    signal: rollout.signal,
  });
  const text = await response.text();
  if (!response.ok) throw new ModelCallError(response.status, text);
  return parse(completion, JSON.parse(text), 'response of the model').choices[0]?.message ?? {};
}

/** An error response of the model. The runner decides by its status whether the agent is responsible. */
class ModelCallError extends AgentLightningError {
  readonly status: number;

  constructor(status: number, text: string) {
    super({ code: 'AGENT_FAILED', message: `Model call failed with status ${status}: ${text.slice(0, 500)}` });
    this.status = status;
  }
}

function noModel(): AgentLightningError {
  return new AgentLightningError({
    code: 'OUTSIDE_ROLLOUT',
    message: 'An environment is played by the model of a rollout, and no rollout has one here',
    remedy: 'Pass the agent to `defineConfig`, and run it with `agl dev`, `agl eval` or `agl train`.',
  });
}
