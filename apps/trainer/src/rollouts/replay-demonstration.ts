import type { FineTuneExample } from '@agentlightning/algorithms';
import { AgentLightningError, currentRollout, type RolloutEndpoint } from '@agentlightning/core';
import { z } from 'zod';

/**
 * Replays a demonstration in the current rollout, so that the algorithm `sft` trains on it: each assistant message without
 * `weight: 0` becomes a model call whose response is that message, with its token ids. Demonstrations have the format that
 * `agl dataset` writes.
 *
 * @returns the reward 1, of a rollout to imitate
 * @throws AgentLightningError outside of a rollout, when a call fails, and with a model endpoint without `forced_message`:
 *   the embedded runtime and the built-in sampler of the GPU runtime have it
 *
 * @example
 * ```ts
 * // warm-up.config.ts
 * agent: (task) => ('messages' in task ? replayDemonstration(task) : agent(task)),
 * algorithm: { type: 'sft', learningRate: 3e-3 },
 * ```
 */
export async function replayDemonstration({ messages, tools }: FineTuneExample): Promise<number> {
  const endpoint = currentRollout()?.endpoint;
  if (!endpoint) {
    throw new AgentLightningError({
      code: 'OUTSIDE_ROLLOUT',
      message: 'A demonstration was replayed outside of a rollout.',
      remedy: 'Call replayDemonstration in the `agent` of a configuration.',
    });
  }
  for (const [index, message] of messages.entries()) {
    if (message['role'] !== 'assistant' || message['weight'] === 0) continue;
    const history = messages.slice(0, index).map(({ weight: _, ...shown }) => shown);
    await force(message, endpoint, { messages: history, ...(tools && { tools }) });
  }
  return 1;
}

/** Makes a model call whose response is the message. */
async function force(
  message: FineTuneExample['messages'][number],
  endpoint: RolloutEndpoint,
  request: Pick<FineTuneExample, 'messages' | 'tools'>,
): Promise<void> {
  const response = await fetch(`${endpoint.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
    },
    body: JSON.stringify({ ...request, model: endpoint.model, forced_message: message }),
  });
  const body = await response.text();
  if (response.ok && isSameMessage(message, completion.parse(JSON.parse(body)).choices[0].message)) return;
  throw new AgentLightningError({
    code: 'UPSTREAM_FAILED',
    message: `The model endpoint did not return the message of a demonstration: status ${response.status}: ${body}`,
    remedy:
      'Correct the demonstration, or use the embedded runtime or the built-in sampler of the GPU runtime: other endpoints ignore `forced_message`.',
  });
}

const spoken = z.looseObject({
  content: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
});

const completion = z.object({ choices: z.tuple([z.object({ message: spoken })], z.unknown()) });

function isSameMessage(expected: unknown, returned: unknown): boolean {
  return essence(expected) === essence(returned);
}

/** Text and tool calls, without ids and without the spaces of arguments. */
function essence(message: unknown): string {
  const { content, tool_calls: calls } = spoken.parse(message);
  return JSON.stringify([
    content ?? '',
    (calls ?? []).map(({ function: { name, arguments: text } }) => [name, parsed(text)]),
  ]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: compared as text.
    return text;
  }
}
