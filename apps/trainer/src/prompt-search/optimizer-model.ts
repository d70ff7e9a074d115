import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { OptimizerMessage } from '@agentlightning/core/algorithm';
import {
  addressText,
  backoffMs,
  errorMessage,
  isRetryableStatus,
  parseRetryAfterMs,
  withoutPasswords,
  withRetry,
} from '@agentlightning/core/internal';
import { addUsage, assertKeyIsEncrypted } from '@agentlightning/core/protocol';
import type { ModelUsage } from '@agentlightning/core/store';
import { z } from 'zod';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import type { ResolvedOptimizer } from '../config/resolve-prompt-search.ts';

/** The dependencies of an optimiser model. */
export interface OptimizerServices {
  readonly clock: Clock;
  /** Aborts requests in flight. */
  readonly signal: AbortSignal;
}

const maxTries = 5;

const retryBackoff = { baseDelayMs: 500, maxDelayMs: 8000 };

/** Maximum accepted `Retry-After`, in milliseconds. */
const maxRetryAfterMs = 60_000;

/** A request that failed. */
class RequestError extends Error {
  readonly isRetryable: boolean;
  /** The HTTP status; null without a response. */
  readonly status: number | null;
  /** The delay that the response requests, in milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    options: { readonly isRetryable: boolean; readonly status?: number; readonly retryAfterMs: number | null },
  ) {
    super(message);
    this.status = options.status ?? null;
    this.isRetryable = options.isRetryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

const tokenCount = z.int().min(0);

const completionSchema = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
  usage: z
    .object({
      prompt_tokens: tokenCount,
      completion_tokens: tokenCount.catch(0),
      prompt_tokens_details: z.object({ cached_tokens: tokenCount.nullish() }).nullish().catch(null),
    })
    .nullish()
    .catch(null),
});

type Completion = z.infer<typeof completionSchema>;

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

/** The model that criticises and rewrites prompts, behind an OpenAI-compatible API. */
export class OptimizerModel {
  readonly #settings: ResolvedOptimizer;
  readonly #services: OptimizerServices;
  readonly #queue: (() => void)[] = [];
  #freeSlots: number;
  #usage: ModelUsage | null = null;

  constructor(settings: ResolvedOptimizer, services: OptimizerServices) {
    if (settings.apiKey !== null && !areInsecureKeysAllowed()) {
      const option = 'AGL_ALLOW_INSECURE_KEYS=1';
      assertKeyIsEncrypted({ receiver: 'Optimizer', url: settings.baseUrl, option });
    }
    this.#settings = settings;
    this.#services = services;
    this.#freeSlots = settings.maxConcurrent;
  }

  /**
   * Requests a completion; retries while the model is busy or does not respond.
   *
   * @throws AgentLightningError UNAUTHENTICATED when the key is rejected; UPSTREAM_FAILED when the request is, or all tries failed
   */
  async complete(messages: readonly OptimizerMessage[], temperature: number): Promise<string> {
    await this.#acquireSlot();
    try {
      return await this.#requestWithRetry(JSON.stringify(this.#bodyOf(messages, temperature)));
    } finally {
      this.#releaseSlot();
    }
  }

  /** The token usage since the previous call of this method; null without any. */
  takeUsage(): ModelUsage | null {
    const usage = this.#usage;
    this.#usage = null;
    return usage;
  }

  #countUsage({ usage }: Completion): void {
    const inputTokens = usage?.prompt_tokens ?? 0;
    const added: ModelUsage = {
      model: this.#settings.model,
      isPolicy: false,
      calls: 1,
      inputTokens,
      cachedInputTokens: Math.min(inputTokens, usage?.prompt_tokens_details?.cached_tokens ?? 0),
      outputTokens: usage?.completion_tokens ?? 0,
    };
    this.#usage = this.#usage === null ? added : addUsage(this.#usage, added);
  }

  #bodyOf(messages: readonly OptimizerMessage[], temperature: number): object {
    const { model, parameters } = this.#settings;
    return { model, messages, temperature, ...parameters };
  }

  async #requestWithRetry(body: string): Promise<string> {
    const { clock, signal } = this.#services;
    try {
      return await withRetry(() => this.#request(body), {
        clock,
        signal: () => signal,
        delayMs: (error, failures) => {
          if (!(error instanceof RequestError) || !error.isRetryable || failures >= maxTries) return null;
          return error.retryAfterMs ?? backoffMs(retryBackoff, failures);
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof RequestError ? this.#failure(error) : error;
    }
  }

  async #request(body: string): Promise<string> {
    const { baseUrl, apiKey, timeoutMs } = this.#settings;
    this.#services.signal.throwIfAborted();
    const headers = {
      'content-type': 'application/json',
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    };
    const signal = AbortSignal.any([this.#services.signal, AbortSignal.timeout(timeoutMs)]);
    const url = `${baseUrl.replace(/\/+$/, '')}/chat/completions`;
    const { response, text } = await send(url, { method: 'POST', headers, body, signal });
    const completion = completionOf(response, text, this.#services.clock.now());
    this.#countUsage(completion);
    return completion.choices[0]?.message.content ?? '';
  }

  /** The message of a 401 or 403 may contain the key, so it is not repeated. */
  #failure({ message: reason, status }: RequestError): AgentLightningError {
    const { baseUrl, model, keySource } = this.#settings;
    if (status === 401 || status === 403) {
      return new AgentLightningError({
        code: 'UNAUTHENTICATED',
        message: `the optimiser model ${model} at ${addressText(baseUrl)} rejects ${keySource} with HTTP ${status}`,
        remedy: 'Set a key of this endpoint that may use the model, then start again.',
      });
    }
    return new AgentLightningError({
      code: 'UPSTREAM_FAILED',
      message: `the optimiser model ${model} at ${addressText(baseUrl)} did not respond: ${withoutPasswords(reason)}`,
      remedy: 'Check `optimizer` in the configuration: address, model and the variable of its key.',
    });
  }

  async #acquireSlot(): Promise<void> {
    if (this.#freeSlots > 0) this.#freeSlots -= 1;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  #releaseSlot(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#freeSlots += 1;
    else next();
  }
}

async function send(url: string, init: RequestInit): Promise<{ readonly response: Response; readonly text: string }> {
  try {
    const response = await fetch(url, init);
    return { response, text: await response.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const message = errorMessage(cause);
    throw new RequestError(message, { isRetryable: true, retryAfterMs: null });
  }
}

/** @throws RequestError when the response is not a completion */
function completionOf({ ok, status, headers }: Response, text: string, nowMs: number): Completion {
  if (ok) {
    const completion = completionSchema.safeParse(jsonOf(text)).data;
    if (completion !== undefined) return completion;
    const message = `the response is not a chat completion: ${text.slice(0, 200)}`;
    throw new RequestError(message, { isRetryable: true, retryAfterMs: null });
  }
  const message = errorSchema.safeParse(jsonOf(text)).data?.error.message ?? text.slice(0, 200);
  const retryAfterMs = parseRetryAfterMs(headers.get('retry-after'), nowMs);
  throw new RequestError(`HTTP ${status}: ${message}`, {
    isRetryable: isRetryableStatus(status),
    status,
    retryAfterMs: retryAfterMs === null ? null : Math.min(maxRetryAfterMs, retryAfterMs),
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
