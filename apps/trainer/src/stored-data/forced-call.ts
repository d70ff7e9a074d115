import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { z } from 'zod';

/** A model endpoint that can be made to return a message. */
export interface ForcedEndpoint {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
}

/**
 * Requests a completion that must be a given message: the response has its token ids, and their log-probabilities under the
 * served weights.
 *
 * @param message - the assistant message
 * @param request - further fields of the request: the messages before it, tools
 * @returns the body of the response
 * @throws AgentLightningError UPSTREAM_FAILED when the endpoint fails, or returns another message: it has no `forced_message`
 */
export async function forceMessage(
  message: Readonly<Record<string, unknown>>,
  { baseUrl, model, apiKey }: ForcedEndpoint,
  request: Readonly<Record<string, unknown>>,
): Promise<JsonObject> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ ...request, model, forced_message: message }),
  });
  const text = await response.text();
  if (response.ok) {
    const body: JsonObject = JSON.parse(text);
    if (essence(message) === essence(completion.parse(body).choices[0].message)) return body;
  }
  throw new AgentLightningError({
    code: 'UPSTREAM_FAILED',
    message: `The model endpoint did not return the message of a demonstration: status ${response.status}: ${text}`,
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
