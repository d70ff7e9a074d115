import { AgentLightningError, type Clock } from '@agentlightning/core';
import { backoffMs, errorMessage, systemClock } from '@agentlightning/core/internal';
import { jsonOf } from '../base/fenced-block.ts';
import { invalidOption, shown } from '../base/part.ts';
import {
  type AISDKModel,
  type CallModel,
  endpointCaller,
  type JudgeCompletion,
  type JudgeEndpoint,
  type JudgeEnvironment,
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
  readonly calls: number;
  /** Verdicts that were in the cache. */
  readonly cached: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** By `price`; 0 without it. */
  readonly cost: number;
}

/** A model that judges. Parts that share one share its limits and cache. */
export interface Judge {
  /** The name of the model. */
  readonly model: string;
  readonly usage: JudgeUsage;
  /**
   * The verdict of the model.
   *
   * @param read - validates the JSON of the response; it throws for an invalid verdict
   * @throws AgentLightningError UPSTREAM_FAILED, TIMEOUT, UNAUTHENTICATED or CONFIG for a failed call, RESOURCE_EXHAUSTED when the
   *   budget is used, INVALID_REWARD for an invalid verdict
   */
  ask<TVerdict>(prompt: JudgePrompt, read: (json: unknown) => TVerdict, signal?: AbortSignal): Promise<TVerdict>;
}

/** The most cached verdicts. */
const maxCached = 10_000;

/**
 * A judge that several parts share.
 *
 * @example
 * ```ts
 * const judge = createJudge({ baseUrl: 'https://api.openai.com/v1', model: 'gpt-5-mini', apiKeyEnv: 'OPENAI_API_KEY', maxCalls: 5000 });
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
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #usage: JudgeUsage = { calls: 0, cached: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

  constructor(settings: JudgeSettings, environment: JudgeEnvironment) {
    checkLimits(settings);
    this.#settings = settings;
    this.#clock = environment.clock ?? systemClock;
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
    signal: AbortSignal = new AbortController().signal,
  ): Promise<TVerdict> {
    const key = JSON.stringify(prompt);
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

  /** Waits for a slot, and calls with repetitions. */
  async #limited(prompt: JudgePrompt, signal: AbortSignal): Promise<JudgeCompletion> {
    if (this.#running >= (this.#settings.concurrency ?? 8)) {
      // The slot is handed over: it stays counted.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await this.#withRetries(prompt, signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #withRetries(prompt: JudgePrompt, signal: AbortSignal): Promise<JudgeCompletion> {
    const { retries = 2, timeoutMs = 30_000 } = this.#settings;
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted();
      this.#takeCall();
      const timeout = AbortSignal.timeout(timeoutMs);
      const reply = await this.#call(prompt, AbortSignal.any([signal, timeout]));
      if ('completion' in reply) {
        this.#count(reply.completion);
        return reply.completion;
      }
      signal.throwIfAborted();
      const { error, isTransient, retryAfterMs } = reply.failure;
      if (!isTransient || failures > retries) throw timeout.aborted ? tooLate(this.model, timeoutMs, error) : error;
      await this.#clock.sleep(retryAfterMs ?? backoffMs({ baseDelayMs: 500, maxDelayMs: 20_000 }, failures), signal);
    }
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
