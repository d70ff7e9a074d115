import { AgentLightningError, currentRollout, type JsonObject } from '@agentlightning/core';
import { redirectedFetch } from '@agentlightning/core/adapter';
import { parse } from '@agentlightning/core/internal';
import { z } from 'zod';

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const completion = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({
          content: z.string().nullish(),
          tool_calls: z.array(toolCall).nullish(),
        }),
      }),
    )
    .min(1),
});

/** A message of the model. */
export type ChatMessage = z.infer<typeof completion>['choices'][number]['message'];

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

/** An error response of the model. Its status tells the runner whether the agent is responsible. */
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
    message: 'An environment is played by the model of a rollout, and there is none',
    remedy: 'Pass the agent to `defineConfig`, and run it with `agl dev`, `agl eval` or `agl train`.',
  });
}
