import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { addressText, isJsonObject, parseJsonObject, withoutPasswords } from '@agentlightning/core/internal';

/** Response timeout of a replayed request, in milliseconds. */
const timeoutMs = 120_000;

/** A model behind an OpenAI-compatible API. */
export interface ReplayEndpoint {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
}

/**
 * Sends a Chat Completions request once.
 *
 * @returns the body of the response
 * @throws AgentLightningError UPSTREAM_FAILED
 */
export async function replayCompletion(
  { baseUrl, model, apiKey }: ReplayEndpoint,
  { body, signal }: { readonly body: JsonObject; readonly signal: AbortSignal },
): Promise<JsonObject> {
  const failure = (reason: string, cause?: unknown): AgentLightningError =>
    new AgentLightningError({
      code: 'UPSTREAM_FAILED',
      message: `model ${model} at ${addressText(baseUrl)} did not respond to the replay: ${withoutPasswords(reason)}`,
      remedy: 'Check that the model endpoint runs, accepts the key, and supports the options of the request.',
      cause,
    });
  const sent = await fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify({ ...body, model }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).then(
    async (response) => ({ response, text: await response.text() }),
    (cause: unknown) => {
      throw failure(
        cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause),
        cause,
      );
    },
  );
  const completion = parseJsonObject(sent.text);
  if (sent.response.ok && completion !== null && isJsonObject(completion)) return completion;
  throw failure(`HTTP ${sent.response.status} ${sent.text.slice(0, 500)}`);
}
