import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { OptimizerMessage } from '@agentlightning/core/algorithm';
import { addressText, withoutPasswords } from '@agentlightning/core/internal';
import { assertKeyIsEncrypted } from '@agentlightning/core/protocol';
import { z } from 'zod';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import type { ResolvedOptimizer } from '../config/resolve-prompt-search.ts';

/** What the optimiser model is asked with, beside its settings. */
export interface OptimizerServices {
  readonly clock: Clock;
  /** Ends questions that are under way. */
  readonly signal: AbortSignal;
}

/** How often a question is asked whose answer did not come. */
const maxTries = 5;

const answerSchema = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

/** The model that criticises and rewrites, behind any OpenAI-compatible API. */
export class OptimizerModel {
  readonly #settings: ResolvedOptimizer;
  readonly #services: OptimizerServices;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(settings: ResolvedOptimizer, services: OptimizerServices) {
    if (settings.apiKey !== null && !areInsecureKeysAllowed()) {
      const option = 'AGL_ALLOW_INSECURE_KEYS=1';
      assertKeyIsEncrypted({ receiver: 'Optimizer', url: settings.baseUrl, option });
    }
    this.#settings = settings;
    this.#services = services;
    this.#free = settings.maxConcurrent;
  }

  /**
   * Asks, and asks again when the model is busy or does not answer.
   *
   * @throws AgentLightningError UPSTREAM_FAILED when it refuses, or does not answer time and again
   */
  async ask(messages: readonly OptimizerMessage[], temperature: number): Promise<string> {
    await this.#enter();
    try {
      return await this.#askPatiently(JSON.stringify(this.#bodyOf(messages, temperature)));
    } finally {
      this.#leave();
    }
  }

  #bodyOf(messages: readonly OptimizerMessage[], temperature: number): object {
    const { model, parameters } = this.#settings;
    return { model, messages, temperature, ...parameters };
  }

  async #askPatiently(body: string): Promise<string> {
    const { clock, signal } = this.#services;
    for (let tries = 1; ; tries += 1) {
      signal.throwIfAborted();
      const outcome = await this.#askOnce(body);
      if (outcome.isAnswer) return outcome.text;
      signal.throwIfAborted();
      if (!outcome.mayRetry || tries >= maxTries) throw this.#failure(outcome.text);
      await clock.sleep(outcome.waitMs ?? Math.min(8000, 500 * 2 ** (tries - 1)), signal);
    }
  }

  async #askOnce(body: string): Promise<Outcome> {
    const { baseUrl, apiKey, timeoutMs } = this.#settings;
    const headers = {
      'content-type': 'application/json',
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    };
    const signal = AbortSignal.any([this.#services.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const url = `${baseUrl.replace(/\/+$/, '')}/chat/completions`;
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      return outcomeOf(response, await response.text());
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { isAnswer: false, text: cause instanceof Error ? cause.message : String(cause), mayRetry: true };
    }
  }

  #failure(reason: string): AgentLightningError {
    const { baseUrl, model } = this.#settings;
    return new AgentLightningError({
      code: 'UPSTREAM_FAILED',
      message: `the optimiser model ${model} at ${addressText(baseUrl)} did not answer: ${withoutPasswords(reason)}`,
      remedy: 'Check `optimizer` in the configuration: address, model and the variable of its key.',
    });
  }

  async #enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

interface Outcome {
  readonly isAnswer: boolean;
  /** The answer, or why there is none. */
  readonly text: string;
  readonly mayRetry?: boolean;
  /** How long the model asks to be left alone, in milliseconds. */
  readonly waitMs?: number;
}

function outcomeOf(response: Response, text: string): Outcome {
  const { status } = response;
  if (response.ok) {
    const answer = answerSchema.safeParse(jsonOf(text)).data;
    if (answer !== undefined) return { isAnswer: true, text: answer.choices[0]?.message.content ?? '' };
    return { isAnswer: false, text: `its answer is no chat completion: ${text.slice(0, 200)}`, mayRetry: true };
  }
  const said = errorSchema.safeParse(jsonOf(text)).data?.error.message ?? text.slice(0, 200);
  const mayRetry = status === 408 || status === 409 || status === 429 || status >= 500;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const wait = Number.isFinite(seconds) ? { waitMs: Math.min(60_000, Math.max(0, seconds * 1000)) } : {};
  return { isAnswer: false, text: `HTTP ${status}: ${said}`, mayRetry, ...wait };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
