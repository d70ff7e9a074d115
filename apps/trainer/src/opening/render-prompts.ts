import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import type { PromptRequest } from '@agentlightning/core/algorithm';
import { isRetryableStatus, isTransient, systemClock, tokenizeRoute, withRetry } from '@agentlightning/core/internal';
import pMap from 'p-map';
import { z } from 'zod';
import type { ForcedEndpoint } from '../stored-data/forced-call.ts';

/** Number of concurrent requests. */
const concurrency = 8;

/** Number of tries of a request, and the delay between them in milliseconds. */
const maxTries = 4;
const retryDelayMs = 500;
const timeoutMs = 30_000;

/**
 * Renders the beginnings of conversations to token ids with the chat template of a model endpoint (`/tokenize`, as in vLLM).
 *
 * @returns in the order of the requests; null for a conversation that the endpoint refuses
 * @throws AgentLightningError UNREACHABLE when the endpoint does not respond, UPSTREAM_FAILED for an invalid response
 */
export async function renderPrompts(
  endpoint: ForcedEndpoint,
  requests: readonly PromptRequest[],
): Promise<readonly (readonly number[] | null)[]> {
  return await pMap(requests, (request) => renderPrompt(endpoint, request), { concurrency });
}

/** @throws AgentLightningError CONFIG when an endpoint cannot render conversations */
export async function assertRenders(endpoint: ForcedEndpoint): Promise<void> {
  const probe = { messages: [{ role: 'user', content: 'Hi' }], fields: {} };
  if ((await renderPrompt(endpoint, probe)) === null) throw withoutRendering(endpoint);
}

/** The error of an endpoint that cannot render conversations. */
export function withoutRendering({ baseUrl }: ForcedEndpoint): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the model endpoint ${baseUrl} cannot render a conversation to token ids: it refuses ${tokenizeRoute}`,
    remedy: 'Use the embedded runtime, the GPU runtime or an engine with `/tokenize`.',
  });
}

async function renderPrompt(endpoint: ForcedEndpoint, request: PromptRequest): Promise<readonly number[] | null> {
  const body = { model: endpoint.model, messages: request.messages, add_generation_prompt: true, ...request.fields };
  return await withRetry(() => renderOnce(endpoint, body), {
    clock: systemClock,
    delayMs: (error, failures) => (isTransient(error) && failures < maxTries ? retryDelayMs : null),
  });
}

async function renderOnce({ baseUrl, apiKey }: ForcedEndpoint, body: JsonObject): Promise<readonly number[] | null> {
  const response = await post(new URL(`..${tokenizeRoute}`, `${baseUrl}/`), { apiKey, body });
  if (isRetryableStatus(response.status)) throw unreachable(baseUrl, `status ${response.status}`);
  if (response.status !== 200) return null;
  const parsed = tokenizedSchema.safeParse(parsedJson(response.text));
  if (parsed.success) return parsed.data.tokens;
  throw new AgentLightningError({
    code: 'UPSTREAM_FAILED',
    message: `the model endpoint ${baseUrl} returned no token ids for a conversation: ${response.text.slice(0, 200)}`,
    remedy: 'Check the log of the model endpoint.',
  });
}

const tokenizedSchema = z.object({ tokens: z.array(z.int().min(0)).min(1) });

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Reported with the text, as another invalid response.
    return null;
  }
}

async function post(
  url: URL,
  { apiKey, body }: { readonly apiKey: string | null; readonly body: JsonObject },
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw unreachable(url.origin, cause);
  }
}

function unreachable(address: string, reason: string): AgentLightningError {
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `the model endpoint ${address} does not render conversations (${reason})`,
    remedy: 'Check the log of the training runtime, then `agl train --resume <run>`.',
  });
}
