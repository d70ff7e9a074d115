import { tokenIdFlag } from '@agentlightning/core/internal';

/**
 * Where the template of a model accepts system messages: anywhere, at the beginning only, or not at all. Templates without
 * system messages also require that user and assistant messages alternate.
 */
export type MessageOrder = 'any' | 'system-first' | 'no-system';

/** What an upstream was found to accept; requests to it are written accordingly. */
export interface RequestDialect {
  /** How token ids and log-probabilities are requested: in the call unchanged, in one that is not streamed, or not at all. */
  readonly tokens: 'as-sent' | 'whole' | 'none';
  readonly order: MessageOrder;
  /** Whether the content of messages may have parts, or must be a text. */
  readonly content: 'any' | 'text';
  /** The ids of tool calls: any, or those of Mistral's models. */
  readonly callIds: 'any' | 'nine-characters';
}

/** The dialect of an upstream without refusals. */
export const plainDialect: RequestDialect = { tokens: 'as-sent', order: 'any', content: 'any', callIds: 'any' };

/** The parts of a dialect that concern messages. */
type MessageDialect = Pick<RequestDialect, 'order' | 'content' | 'callIds'>;

/** The refusals of an upstream. */
export class LearnedDialect {
  #messages: MessageDialect = plainDialect;
  /** The forms of calls in which it rejects requests for tokens. */
  readonly #refusedTokens: Set<'whole' | 'streamed'> = new Set();

  /** The dialect for a call. */
  for(isStreamed: boolean): RequestDialect {
    const { order, content, callIds } = this.#messages;
    return { tokens: this.#tokens(isStreamed), order, content, callIds };
  }

  /** Whether no call can have token ids. */
  get hasNoTokens(): boolean {
    return this.#refusedTokens.size === 2;
  }

  /** Stores the dialect in which a call succeeded. @returns what was not known before */
  learn(accepted: RequestDialect, isStreamed: boolean): readonly (keyof RequestDialect)[] {
    const before = this.for(isStreamed);
    this.#messages = accepted;
    if (accepted.tokens !== 'as-sent') this.#refusedTokens.add(isStreamed ? 'streamed' : 'whole');
    if (accepted.tokens === 'none') this.#refusedTokens.add('whole');
    const parts = ['tokens', 'order', 'content', 'callIds'] as const;
    return parts.filter((part) => before[part] !== accepted[part]);
  }

  #tokens(isStreamed: boolean): RequestDialect['tokens'] {
    if (!this.#refusedTokens.has(isStreamed ? 'streamed' : 'whole')) return 'as-sent';
    return isStreamed && !this.#refusedTokens.has('whole') ? 'whole' : 'none';
  }
}

const tokenFields: RegExp = new RegExp(`${tokenIdFlag}|logprobs`, 'i');

/** What templates say about a message at a position, or with a role, that they do not accept. */
const messageOrder =
  /system (message|role|prompt)|developer|(unexpected|unknown|invalid|unsupported)[^.]{0,20}role|roles?[^.]{0,40}alternat/i;

/** What engines say about content that is not a text: Rust servers, FastAPI and templates. */
const partsInContent =
  /content[\s\S]{0,80}(?:must be (?:a )?string|valid string|expected (?:a )?string)|sequence, expected a string|can only concatenate str/i;

/** What Mistral's models say about ids of other forms. */
const idLength = /tool call id[\s\S]{0,160}(?:length of 9|9 char|nine)/i;

/** The statuses of a rejected request. Some engines return 500 for an error of the template. */
const rejections: ReadonlySet<number> = new Set([400, 422, 500]);

/**
 * The dialect to try after a refusal.
 *
 * @returns null when the refusal has another reason, or nothing is left to try
 */
export function nextDialect(
  refused: { readonly status: number; readonly text: string | null },
  tried: RequestDialect,
  isStreamed: boolean,
): RequestDialect | null {
  const text = refused.text ?? '';
  if (!rejections.has(refused.status)) return null;
  if (tried.tokens !== 'none' && refused.status !== 500 && tokenFields.test(text)) {
    return { ...tried, tokens: isStreamed && tried.tokens === 'as-sent' ? 'whole' : 'none' };
  }
  if (tried.callIds === 'any' && idLength.test(text)) return { ...tried, callIds: 'nine-characters' };
  if (tried.content === 'any' && partsInContent.test(text)) return { ...tried, content: 'text' };
  if (tried.order === 'no-system' || !messageOrder.test(text)) return null;
  return { ...tried, order: tried.order === 'any' ? 'system-first' : 'no-system' };
}
