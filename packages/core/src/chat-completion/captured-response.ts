import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, numberOf, numbersOf, objectsOf, textOf } from '../base/json-access.ts';
import type { ModelCallChoice } from '../spans/model-call.ts';
import { promptTokenIdFields, tokenIdFields } from './engines.ts';

/** Token counts reported by an engine. */
export interface CapturedUsage {
  readonly inputTokens: number;
  /** Input tokens that the engine had cached; null when it does not report them. */
  readonly cachedInputTokens: number | null;
  readonly outputTokens: number;
}

/** Log-probability and text of each response token. */
interface TokenLogprobs {
  readonly logprobs: readonly number[];
  readonly tokens: readonly string[];
}

interface ChoiceTokens {
  tokenIds: number[];
  logprobs: number[];
  policyVersions: number[];
  tokens: string[];
  finishReason: string | null;
}

/**
 * Token data of a response, in the fields of `engines.json`: `prompt_token_ids`, `choices[].token_ids`,
 * `choices[].logprobs.content` (or `tokens` and `token_logprobs` of Completions), `usage`; and `policy_version` and
 * `choices[].policy_versions` of the runtimes. It accepts a whole body, or the chunks of a stream in order.
 */
export class CapturedResponse {
  readonly #choices: Map<number, ChoiceTokens> = new Map();
  #responseId: string | null = null;
  #model: string | null = null;
  #promptTokenIds: readonly number[] = [];
  #usage: CapturedUsage | null = null;
  #policyVersion: number | null = null;
  #hasMixedPolicyVersions = false;
  /** Cached choices; null after new input. */
  #cached: readonly ModelCallChoice[] | null = null;

  /** Adds a body or a chunk. */
  add(body: JsonObject): void {
    this.#cached = null;
    this.#responseId ??= textOf(body.id);
    this.#model ??= textOf(body.model);
    this.addPolicyVersion(numberOf(body.policy_version));
    this.#addPromptTokenIds(body);
    this.#addUsage(body);
    for (const choice of objectsOf(body.choices)) this.#addChoice(choice);
  }

  /** Adds the policy version from the response header or a chunk. */
  addPolicyVersion(version: number | null): void {
    if (version === null) return;
    this.#cached = null;
    this.#hasMixedPolicyVersions ||= this.#policyVersion !== null && this.#policyVersion !== version;
    this.#policyVersion ??= version;
  }

  get responseId(): string | null {
    return this.#responseId;
  }

  /** Model name reported by the engine. */
  get model(): string | null {
    return this.#model;
  }

  get promptTokenIds(): readonly number[] {
    return this.#promptTokenIds;
  }

  /** Null when the engine does not report usage. */
  get usage(): CapturedUsage | null {
    return this.#usage;
  }

  /** Version of the weights, of the oldest token; null when the engine does not report it. */
  get policyVersion(): number | null {
    return this.#policyVersion;
  }

  /** Whether the engine reported several versions without saying which token has which. */
  get hasMixedPolicyVersions(): boolean {
    return this.#hasMixedPolicyVersions;
  }

  /** In order of index; one empty choice if the response has no choices. */
  get choices(): readonly ModelCallChoice[] {
    this.#cached ??= this.#sortedChoices();
    return this.#cached;
  }

  #sortedChoices(): readonly ModelCallChoice[] {
    const choices = [...this.#choices].map(([index, choice]) => ({
      index,
      responseTokenIds: choice.tokenIds,
      responseLogprobs: choice.logprobs,
      ...(choice.policyVersions.some((version) => version !== this.#policyVersion) && {
        responsePolicyVersions: choice.policyVersions,
      }),
      finishReason: choice.finishReason,
    }));
    if (choices.length === 0) return [{ index: 0, responseTokenIds: [], responseLogprobs: [], finishReason: null }];
    return choices.sort((left, right) => left.index - right.index);
  }

  /** Whether there is at least one choice and all are finished. */
  get isFinished(): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every((choice) => choice.finishReason !== null);
  }

  /** Text of each response token of the first choice. */
  get responseTokens(): readonly string[] {
    const first = this.choices[0];
    return first === undefined ? [] : (this.#choices.get(first.index)?.tokens ?? []);
  }

  #addPromptTokenIds(fields: JsonObject): void {
    // Streams repeat the prompt token ids for every choice.
    if (this.#promptTokenIds.length > 0) return;
    this.#promptTokenIds = numbersIn(fields, promptTokenIdFields);
  }

  #addUsage(body: JsonObject): void {
    if (!isObject(body.usage)) return;
    const { prompt_tokens: prompt, prompt_tokens_details: details, completion_tokens: completion } = body.usage;
    const inputTokens = numberOf(prompt);
    if (inputTokens === null) return;
    const cachedInputTokens = isObject(details) ? numberOf(details.cached_tokens) : null;
    this.#usage = { inputTokens, cachedInputTokens, outputTokens: numberOf(completion) ?? 0 };
  }

  #addChoice(choice: JsonObject): void {
    this.#addPromptTokenIds(choice);
    const known = this.#choiceAt(numberOf(choice.index) ?? 0);
    const { logprobs, tokens } = logprobsOf(choice.logprobs);
    known.tokenIds = joined(known.tokenIds, numbersIn(choice, tokenIdFields));
    known.logprobs = joined(known.logprobs, logprobs);
    known.policyVersions = joined(known.policyVersions, numbersOf(choice.policy_versions) ?? []);
    known.tokens = joined(known.tokens, tokens);
    known.finishReason = textOf(choice.finish_reason) ?? known.finishReason;
  }

  #choiceAt(index: number): ChoiceTokens {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice = { tokenIds: [], logprobs: [], policyVersions: [], tokens: [], finishReason: null };
    this.#choices.set(index, choice);
    return choice;
  }
}

/** The numbers of the first of these fields that has any. */
function numbersIn(fields: JsonObject, names: readonly string[]): readonly number[] {
  for (const name of names) {
    const numbers = numbersOf(fields[name]);
    if (numbers !== null) return numbers;
  }
  return [];
}

/** The lists of a whole response are used without a copy; those of streams are appended to. */
function joined<TItem>(known: TItem[], more: readonly TItem[]): TItem[] {
  if (known.length === 0) return more.slice();
  for (const item of more) known.push(item);
  return known;
}

function logprobsOf(value: JsonValue | undefined): TokenLogprobs {
  if (!isObject(value)) return { logprobs: [], tokens: [] };
  const { tokens, token_logprobs: values } = value;
  if (Array.isArray(tokens) && Array.isArray(values)) {
    return {
      logprobs: values.map((item) => numberOf(item) ?? Number.NaN),
      tokens: tokens.map((item) => textOf(item) ?? ''),
    };
  }
  const entries = objectsOf(value.content);
  return {
    logprobs: entries.map((entry) => numberOf(entry.logprob) ?? Number.NaN),
    tokens: entries.map((entry) => textOf(entry.token) ?? ''),
  };
}
