import { AgentLightningError, type Clock } from '@agentlightning/core';
import { backoffMs, errorMessage, systemClock, withRetry } from '@agentlightning/core/internal';
import pLimit, { type LimitFunction } from 'p-limit';
import { jsonOf } from '../base/fenced-block.ts';
import { invalidOption, shown } from '../base/part.ts';
import {
  type AISDKModel,
  type CallModel,
  endpointCaller,
  type JudgeCompletion,
  type JudgeEndpoint,
  type JudgeEnvironment,
  type JudgeFailure,
  type JudgePrompt,
  modelCaller,
} from './judge-models.ts';

/** The limits of a judge. Each process that runs agents has its own. */
export interface JudgeLimits {
  /** Calls at the same time. @default 8 */
  readonly concurrency?: number;
  /** The time of one call, in milliseconds. @default 30000 */
  readonly timeoutMs?: number;
  /** Repetitions of a call after a 429, a 5xx, a timeout or a connection error. @default 2 */
  readonly retries?: number;
  /** The most calls, repetitions included. @default unlimited */
  readonly maxCalls?: number;
  /** The most money, in the currency of `price`. Calls in flight may exceed it. @default unlimited */
  readonly maxCost?: number;
  /** The price per million tokens. @default the cost is not counted */
  readonly price?: { readonly input: number; readonly output: number };
  /** Reuse the verdict of an identical prompt. @default true */
  readonly cache?: boolean;
}

/** A judge: an OpenAI-compatible endpoint, or a model of the AI SDK. */
export type JudgeSettings = JudgeLimits & (JudgeEndpoint | { readonly model: AISDKModel });

/** What a judge has used. */
export interface JudgeUsage {
  /** Requests that got a response. */
  readonly calls: number;
  /** Verdicts that were in the cache. */
  readonly cached: number;
  /** Tokens of the prompts, as the endpoint counts them. */
  readonly inputTokens: number;
  /** Tokens of the responses. */
  readonly outputTokens: number;
  /** By `price`; 0 without it. */
  readonly cost: number;
}

/** A model that judges. Parts that share one share its limits and cache. */
export interface Judge {
  /** The name of the model. */
  readonly model: string;
  /** What it has used so far in this process. */
  readonly usage: JudgeUsage;
  /**
   * The verdict of the model.
   *
   * @param read - validates the JSON of the response; it throws for an invalid verdict
   * @throws AgentLightningError UPSTREAM_FAILED, TIMEOUT, UNAUTHENTICATED or CONFIG for a failed call, RESOURCE_EXHAUSTED when the
   *   budget is used, INVALID_REWARD for an invalid verdict
   */
  ask<TVerdict>(prompt: JudgePrompt, read: (json: unknown) => TVerdict, options?: AskOptions): Promise<TVerdict>;
}

/** Options of {@link Judge.ask}; a scored output has them. */
export interface AskOptions {
  /** Ends the call. @default never */
  readonly signal?: AbortSignal;
  /** Whether the cache is not read. @default false */
  readonly isFresh?: boolean;
}

/** The most cached verdicts. */
const maxCached = 10_000;

/**
 * A judge that several parts share.
 *
 * @example
 * ```ts
 * const judge = createJudge({ baseUrl: 'https://api.openai.com/v1', model: 'gpt-5-mini', apiKey: env('OPENAI_API_KEY'), maxCalls: 5000 });
 * ```
 *
 * @throws AgentLightningError CONFIG for an invalid address or limit
 */
export function createJudge(settings: JudgeSettings, environment: JudgeEnvironment = {}): Judge {
  return new LimitedJudge(settings, environment);
}

/** The judge of a part: one that is shared, or its own. */
export function judgeOf(judge: Judge | JudgeSettings): Judge {
  return 'ask' in judge ? judge : createJudge(judge);
}

class LimitedJudge implements Judge {
  readonly model: string;
  readonly #settings: JudgeSettings;
  readonly #clock: Clock;
  readonly #call: CallModel;
  readonly #cache = new Map<string, Promise<JudgeCompletion>>();
  readonly #limit: LimitFunction;
  #usage: JudgeUsage = { calls: 0, cached: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

  constructor(settings: JudgeSettings, environment: JudgeEnvironment) {
    checkLimits(settings);
    this.#settings = settings;
    this.#clock = environment.clock ?? systemClock;
    this.#limit = pLimit(settings.concurrency ?? 8);
    const isEndpoint = 'baseUrl' in settings;
    this.model = isEndpoint ? settings.model : settings.model.modelId;
    this.#call = isEndpoint ? endpointCaller(settings, environment) : modelCaller(settings.model);
  }

  get usage(): JudgeUsage {
    return this.#usage;
  }

  async ask<TVerdict>(
    prompt: JudgePrompt,
    read: (json: unknown) => TVerdict,
    { signal = new AbortController().signal, isFresh = false }: AskOptions = {},
  ): Promise<TVerdict> {
    const key = JSON.stringify(prompt);
    if (isFresh) this.#cache.delete(key);
    const { text } = await this.#completion(key, prompt, signal);
    try {
      return read(jsonOf(text));
    } catch (error) {
      this.#cache.delete(key);
      throw new AgentLightningError({
        code: 'INVALID_REWARD',
        message: `The judge ${this.model} gave an invalid verdict, ${shown(text)}: ${errorMessage(error).replace(/^\[\w+\] /, '')}`,
        remedy: 'Use a model that responds with the JSON of the prompt.',
        cause: error,
      });
    }
  }

  async #completion(key: string, prompt: JudgePrompt, signal: AbortSignal): Promise<JudgeCompletion> {
    if (this.#settings.cache === false) return this.#limited(prompt, signal);
    const known = this.#cache.get(key);
    if (known !== undefined) {
      const completion = await known.catch(() => null);
      if (completion !== null) {
        this.#usage = { ...this.#usage, cached: this.#usage.cached + 1 };
        return completion;
      }
    }
    const completion = this.#limited(prompt, signal);
    this.#cache.set(key, completion);
    const oldest = this.#cache.size > maxCached ? this.#cache.keys().next().value : undefined;
    if (oldest !== undefined) this.#cache.delete(oldest);
    try {
      return await completion;
    } catch (error) {
      if (this.#cache.get(key) === completion) this.#cache.delete(key);
      throw error;
    }
  }

  /** Calls within the limits, with repetitions. */
  async #limited(prompt: JudgePrompt, signal: AbortSignal): Promise<JudgeCompletion> {
    const { retries = 2 } = this.#settings;
    return await this.#limit(() =>
      withRetry(() => this.#callOnce(prompt, signal), {
        clock: this.#clock,
        signal: () => signal,
        delayMs: (error, failures) => {
          if (!(error instanceof FailedCall)) return null;
          const { isTransient, retryAfterMs } = error.failure;
          if (!isTransient || failures > retries || signal.aborted) return null;
          return retryAfterMs ?? backoffMs({ baseDelayMs: 500, maxDelayMs: 20_000 }, failures);
        },
      }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error instanceof FailedCall ? error.failure.error : error;
      }),
    );
  }

  async #callOnce(prompt: JudgePrompt, signal: AbortSignal): Promise<JudgeCompletion> {
    const { timeoutMs = 30_000 } = this.#settings;
    signal.throwIfAborted();
    this.#takeCall();
    const timeout = AbortSignal.timeout(timeoutMs);
    const reply = await this.#call(prompt, AbortSignal.any([signal, timeout]));
    if ('completion' in reply) {
      this.#count(reply.completion);
      return reply.completion;
    }
    const { failure } = reply;
    throw new FailedCall(
      timeout.aborted ? { ...failure, error: tooLate(this.model, timeoutMs, failure.error) } : failure,
    );
  }

  /** @throws AgentLightningError RESOURCE_EXHAUSTED */
  #takeCall(): void {
    const { maxCalls = Number.POSITIVE_INFINITY, maxCost = Number.POSITIVE_INFINITY } = this.#settings;
    const { calls, cost } = this.#usage;
    if (calls >= maxCalls || cost >= maxCost) {
      throw new AgentLightningError({
        code: 'RESOURCE_EXHAUSTED',
        message: `The budget of the judge ${this.model} is used: ${calls} calls, cost ${cost.toFixed(4)}`,
        remedy: 'Raise `maxCalls` or `maxCost` of the judge.',
      });
    }
    this.#usage = { ...this.#usage, calls: calls + 1 };
  }

  #count({ inputTokens, outputTokens }: JudgeCompletion): void {
    const { price = { input: 0, output: 0 } } = this.#settings;
    this.#usage = {
      ...this.#usage,
      inputTokens: this.#usage.inputTokens + inputTokens,
      outputTokens: this.#usage.outputTokens + outputTokens,
      cost: this.#usage.cost + (inputTokens * price.input + outputTokens * price.output) / 1_000_000,
    };
  }
}

/** A failed call within its repetitions. */
class FailedCall extends Error {
  readonly failure: JudgeFailure;

  constructor(failure: JudgeFailure) {
    super(failure.error.message, { cause: failure.error });
    this.failure = failure;
  }
}

function checkLimits(settings: JudgeLimits): void {
  const { concurrency = 1, timeoutMs = 1, retries = 0, maxCost, price } = settings;
  if (!(Number.isInteger(concurrency) && concurrency > 0))
    throw invalidOption('concurrency', concurrency, 'at least 1');
  if (!(timeoutMs > 0)) throw invalidOption('timeoutMs', timeoutMs, 'a positive number of milliseconds');
  if (!(Number.isInteger(retries) && retries >= 0)) throw invalidOption('retries', retries, 'an integer of at least 0');
  if (maxCost !== undefined && price === undefined) throw invalidOption('maxCost', maxCost, '`price` as well');
}

function tooLate(model: string, timeoutMs: number, cause: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'TIMEOUT',
    message: `The judge ${model} did not respond within ${timeoutMs} ms`,
    remedy: 'Raise `timeoutMs` of the judge.',
    cause,
  });
}
