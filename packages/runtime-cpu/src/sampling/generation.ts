import { AgentLightningError } from '@agentlightning/core';
import type { TokenChoice } from '@agentlightning/runtime/internal/serving';
import { Random } from '../random.ts';
import { decodeTokens } from '../text/tokenizer.ts';
import { specialToken } from '../text/vocabulary.ts';
import type { Decoder } from './decoder.ts';
import { KeyValueCache } from './key-value-cache.ts';
import type { PrefixCache } from './prefix-cache.ts';
import type { SampleRequest, SampleResult } from './sample-request.ts';
import { chooseToken, scoreToken } from './token-choice.ts';

/**
 * A response in progress. Iterate over it for the sampled tokens, or await {@link result}. It keeps the
 * weights it started with, so a response has exactly one version.
 */
export class Generation implements AsyncIterable<TokenChoice> {
  /** Settles when the response is complete. */
  readonly result: Promise<SampleResult>;
  /** The weight version that serves this response. */
  readonly weightVersion: number;
  readonly #request: SampleRequest;
  readonly #served: ServedWeights;
  readonly #random: Random;
  readonly #sequence: number[];
  readonly #choices: TokenChoice[] = [];
  readonly #completion: PromiseWithResolvers<SampleResult> = Promise.withResolvers();
  #cache: KeyValueCache | undefined;
  #cachedTokens = 0;
  #progress: PromiseWithResolvers<void> = Promise.withResolvers();
  #state: 'running' | 'finished' | 'failed' = 'running';

  constructor(request: SampleRequest, served: ServedWeights, seed: number) {
    this.#request = request;
    this.#served = served;
    this.#random = Random.fromSeed(seed);
    this.#sequence = [...request.promptTokens];
    this.weightVersion = served.version;
    this.result = this.#completion.promise;
    // Iterating callers receive the failure there; here it must not be unhandled.
    this.result.catch(() => {});
  }

  /** Whether tokens are still generated. */
  get isRunning(): boolean {
    return this.#state === 'running';
  }

  /** Samples the next token; the first call prefills the prompt. Returns the number of computed tokens. */
  step(): number {
    if (this.#request.signal?.aborted) {
      this.abort('The request was cancelled by the caller');
      return 0;
    }
    try {
      return this.#advance();
    } catch (error) {
      this.#fail(error);
      return 0;
    }
  }

  /** Ends the response with an error. */
  abort(reason: string): void {
    if (this.isRunning) this.#fail(new AgentLightningError({ code: 'CANCELLED', message: reason }));
  }

  #advance(): number {
    const input = this.#nextInput();
    const logits = this.#served.decoder.append(input, this.#openCache());
    if (this.#choices.length === 0) this.#served.prefixes.insert(this.#request.promptTokens, this.#openCache());
    const forced = this.#request.forcedTokens?.[this.#choices.length];
    const choice =
      forced === undefined
        ? chooseToken(logits, this.#request, this.#random.nextUniform())
        : scoreToken(logits, this.#request, forced);
    this.#choices.push(choice);
    this.#sequence.push(choice.token);
    this.#finishIfDone(choice.token);
    this.#announce();
    return input.length;
  }

  #fail(error: unknown): void {
    this.#state = 'failed';
    this.#completion.reject(error);
    this.#announce();
  }

  /** The tokens, one by one. */
  async *[Symbol.asyncIterator](): AsyncIterator<TokenChoice> {
    let next = 0;
    for (;;) {
      const progress = this.#progress.promise;
      while (next < this.#choices.length) yield this.#choices[next++] as TokenChoice;
      if (this.#state === 'failed') await this.result;
      if (this.#state === 'finished' && next === this.#choices.length) return;
      if (this.isRunning && next === this.#choices.length) await progress;
    }
  }

  #nextInput(): readonly number[] {
    const { promptTokens } = this.#request;
    if (this.#choices.length > 0) return this.#sequence.slice(-1);
    // The last token of the prompt is always computed: its logits are needed.
    const match = this.#served.prefixes.find(promptTokens.slice(0, -1));
    if (match) this.#openCache().copyPrefix(match.source, match.length);
    this.#cachedTokens = match?.length ?? 0;
    return promptTokens.slice(this.#cachedTokens);
  }

  #openCache(): KeyValueCache {
    const { promptTokens, maxTokens } = this.#request;
    this.#cache ??= new KeyValueCache(this.#served.decoder.config, promptTokens.length + Math.min(maxTokens, 32));
    return this.#cache;
  }

  #finishIfDone(token: number): void {
    const { maxTokens, stop } = this.#request;
    const { maxContext } = this.#served.decoder.config;
    const stopString = stop.length > 0 ? this.#stopStringIn(stop) : undefined;
    const isFull = this.#sequence.length >= maxContext || this.#choices.length >= maxTokens;
    if (token === specialToken.end) this.#finish('stop');
    else if (stopString !== undefined) this.#finish('stop', stopString);
    else if (isFull) this.#finish('length');
  }

  #stopStringIn(stop: readonly string[]): string | undefined {
    const text = decodeTokens(this.#choices.map((choice) => choice.token));
    return stop.find((candidate) => candidate !== '' && text.includes(candidate));
  }

  #finish(finishReason: 'stop' | 'length', stopString?: string): void {
    this.#state = 'finished';
    // The last token was sampled but not computed; the tokens before it can be reused in the next turn.
    this.#served.prefixes.insert(this.#sequence.slice(0, -1), this.#openCache());
    this.#completion.resolve({
      promptTokens: this.#request.promptTokens,
      choices: this.#choices,
      finishReason,
      weightVersion: this.#served.version,
      cachedTokens: this.#cachedTokens,
      ...(stopString !== undefined && { stopString }),
    });
  }

  #announce(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }
}

/** A published version of a model's weights, with its caches. */
export interface ServedWeights {
  readonly version: number;
  readonly decoder: Decoder;
  readonly prefixes: PrefixCache;
}
