import {
  CapturedResponse,
  isJsonObject,
  parseJsonObject,
  tokenIdFlag,
  untrainableReason,
  withoutPasswords,
} from '@agentlightning/core/internal';
import { type Finding, fine } from './finding.ts';

/** A model endpoint to check. */
export interface CheckedEndpoint {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** Whether training needs the token ids of its responses. */
  readonly needsTokenIds: boolean;
}

/** Response timeout in milliseconds: a server may load the model first. */
const timeoutMs = 30_000;

/** Sends one short completion, and checks the response and its token ids. */
export async function checkEndpoint(endpoint: CheckedEndpoint): Promise<readonly Finding[]> {
  const { baseUrl, model, needsTokenIds } = endpoint;
  const name = 'model endpoint';
  const skipped: Finding = {
    name: 'token ids',
    status: 'skipped',
    detail: 'the endpoint does not respond',
    remedy: null,
  };
  let response: Response;
  try {
    response = await request(endpoint);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const detail = withoutPasswords(`${baseUrl} does not respond: ${cause instanceof Error ? cause.message : cause}`);
    return [
      { name, status: 'error', detail, remedy: 'Start the server, or correct the address, up to and with /v1.' },
      skipped,
    ];
  }
  const text = await response.text();
  const body = parseJsonObject(text);
  if (!response.ok || body === null || !isJsonObject(body)) {
    const detail = withoutPasswords(`${baseUrl}, model ${model}: HTTP ${response.status} ${text.slice(0, 200)}`);
    return [{ name, status: 'error', detail, remedy: remedyOf(response.status) }, skipped];
  }
  const captured = new CapturedResponse();
  captured.add(body);
  const reason = untrainableReason(captured);
  const answers = fine(name, `${baseUrl} answers as ${model}`);
  if (reason === null) return [answers, fine('token ids', 'captured, with log-probabilities')];
  const detail = `not captured: ${reason}`;
  if (!needsTokenIds) return [answers, { name: 'token ids', status: 'skipped', detail, remedy: null }];
  const remedy = 'Serve the model with a training runtime, or with vLLM 0.10.2 or later, which returns token ids.';
  return [answers, { name: 'token ids', status: 'error', detail, remedy }];
}

async function request({ baseUrl, model, apiKey, needsTokenIds }: CheckedEndpoint): Promise<Response> {
  const content = 'Answer with one word.';
  // An API that does not know a field may reject the request.
  const tokenFields = needsTokenIds ? { max_tokens: 4, logprobs: true, [tokenIdFlag]: true } : {};
  return await fetch(`${baseUrl.replace(/\/$/, '')}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...tokenFields }),
    signal: AbortSignal.timeout(timeoutMs),
  });
}

function remedyOf(status: number): string {
  if (status === 401 || status === 403)
    return 'Set the key of the endpoint: --key-env, or `apiKey` in the configuration.';
  if (status === 404) return 'Correct the address, up to and with /v1, or the name of the model.';
  if (status === 429) return 'Wait, or raise the limit of the account.';
  return 'Check the log of the server, and that it serves /v1/chat/completions.';
}
