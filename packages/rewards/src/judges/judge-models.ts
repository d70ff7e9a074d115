import { AgentLightningError, type Clock } from '@agentlightning/core';
import {
  errorMessage,
  formerSecretHint,
  parseRetryAfterMs,
  readSecret,
  type Secret,
  systemClock,
} from '@agentlightning/core/internal';
import { importOptional } from '../base/optional-package.ts';
import { shown } from '../base/part.ts';

/** An OpenAI-compatible endpoint. */
export interface JudgeEndpoint {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** The name by which the endpoint knows the model. */
  readonly model: string;
  /** The key, such as `env('OPENAI_API_KEY')`, which is read at a call. @default no key is sent */
  readonly apiKey?: Secret;
  /** Further fields of each request, which replace `temperature` and `response_format`. @default none */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** A model of the AI SDK, such as `openai('gpt-5-mini')`. It needs the package `ai`. */
export interface AISDKModel {
  /** The version of the interface between the AI SDK and its providers, such as `v3`. */
  readonly specificationVersion: string;
  /** The name of the provider, such as `openai.chat`. */
  readonly provider: string;
  /** The name of the model, such as `gpt-5-mini`. */
  readonly modelId: string;
}

/** The prompt of a judge. */
export interface JudgePrompt {
  /** What is judged, and how: the system message. */
  readonly system: string;
  /** The material, as JSON: the user message. */
  readonly prompt: string;
}

/** What a judge responded, and its tokens. */
export interface JudgeCompletion {
  readonly text: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A failed call of a judge. */
export interface JudgeFailure {
  readonly error: AgentLightningError;
  /** Whether another attempt may succeed. */
  readonly isTransient: boolean;
  /** The delay that the endpoint requires, in milliseconds. @default backoff */
  readonly retryAfterMs: number | null;
}

/** The result of one call. */
export type JudgeReply = { readonly completion: JudgeCompletion } | { readonly failure: JudgeFailure };

/** Calls the model once. */
export type CallModel = (prompt: JudgePrompt, signal: AbortSignal) => Promise<JudgeReply>;

/** What replaces the system in tests. */
export interface JudgeEnvironment {
  /** @default the system clock */
  readonly clock?: Clock;
  /** Where the key is read, at a call. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Calls an endpoint by `fetch`.
 *
 * @throws AgentLightningError CONFIG for an address that is not a URL; from a call, for a key that is not set
 */
export function endpointCaller(
  endpoint: JudgeEndpoint,
  { clock = systemClock, environment = process.env }: JudgeEnvironment = {},
): CallModel {
  if (!URL.canParse(endpoint.baseUrl)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `\`baseUrl\` of a judge is not a URL: ${shown(endpoint.baseUrl)}`,
      remedy: 'Pass the address up to and with `/v1`.',
    });
  }
  assertCurrentKeys(endpoint);
  const url = `${endpoint.baseUrl.replace(/\/+$/, '')}/chat/completions`;
  return async ({ system, prompt }, signal) => {
    const key = keyOf(endpoint, environment);
    const body = {
      model: endpoint.model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: prompt },
      ],
      temperature: 0,
      response_format: { type: 'json_object' },
      ...endpoint.parameters,
    };
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
        body: JSON.stringify(body),
        signal,
      });
      text = await response.text();
    } catch (error) {
      return {
        failure: { error: callError(`${url}: ${errorMessage(error)}`, error), isTransient: true, retryAfterMs: null },
      };
    }
    return response.ok ? { completion: completionOf(text) } : { failure: httpFailure(response, text, clock.now()) };
  };
}

/** A former option would be ignored, and the judge would call without a key. */
function assertCurrentKeys(endpoint: JudgeEndpoint): void {
  const former = Object.keys(endpoint).find((name) => formerSecretHint(name) !== null);
  if (former === undefined) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `A judge has no option "${former}": ${formerSecretHint(former)}`,
    remedy: 'Rename it; `agl config migrate <file>` does it in a file.',
  });
}

function keyOf(endpoint: JudgeEndpoint, environment: Readonly<Record<string, string | undefined>>): string | null {
  const { apiKey } = endpoint;
  if (apiKey === undefined) return null;
  const key = readSecret(apiKey, environment);
  if (key !== null) return key;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `The judge ${endpoint.model} has no key: ${typeof apiKey === 'string' ? '`apiKey` is empty' : `${apiKey.env} is not set`}`,
    remedy: 'Set the environment variable that `apiKey` names, also for the processes of the agents.',
  });
}

function httpFailure(response: Response, text: string, nowMs: number): JudgeFailure {
  const { status } = response;
  const isRefused = status === 401 || status === 403;
  const error = new AgentLightningError({
    code: isRefused ? 'UNAUTHENTICATED' : 'UPSTREAM_FAILED',
    message: `The judge at ${response.url} responded ${status}: ${text.slice(0, 300)}`,
    ...(isRefused ? { remedy: "Set `apiKey` of the judge to its key, such as `env('JUDGE_API_KEY')`." } : {}),
  });
  return {
    error,
    isTransient: status === 408 || status === 429 || status >= 500,
    retryAfterMs: parseRetryAfterMs(response.headers.get('retry-after'), nowMs),
  };
}

interface ChatCompletion {
  readonly choices?: readonly { readonly message?: { readonly content?: string | null } }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number };
}

function completionOf(text: string): JudgeCompletion {
  let body: ChatCompletion;
  try {
    body = JSON.parse(text) as ChatCompletion;
  } catch (error) {
    throw callError(`response is not JSON: ${shown(text)}`, error);
  }
  const content = body.choices?.[0]?.message?.content;
  return {
    text: typeof content === 'string' ? content : '',
    inputTokens: body.usage?.prompt_tokens ?? 0,
    outputTokens: body.usage?.completion_tokens ?? 0,
  };
}

/** What is used of the AI SDK. */
interface AISDKModule {
  generateText(options: object): Promise<{
    readonly text: string;
    readonly usage: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined };
  }>;
}

/** Calls a model of the AI SDK. */
export function modelCaller(model: AISDKModel): CallModel {
  return async (prompt, signal) => {
    const { generateText } = await importOptional<AISDKModule>(
      'ai',
      'A judge with a model of the AI SDK',
      () => import('ai'),
    );
    try {
      const { text, usage } = await generateText({
        model,
        ...prompt,
        temperature: 0,
        maxRetries: 0,
        abortSignal: signal,
      });
      return {
        completion: { text, inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 },
      };
    } catch (error) {
      const isTransient = (error as { readonly isRetryable?: boolean } | null)?.isRetryable !== false;
      return { failure: { error: callError(errorMessage(error), error), isTransient, retryAfterMs: null } };
    }
  };
}

function callError(message: string, cause: unknown): AgentLightningError {
  return new AgentLightningError({ code: 'UPSTREAM_FAILED', message: `A call of the judge failed: ${message}`, cause });
}
