import type { ParsedResponse, TextDelta, TextStream } from '@agentlightning/runtime/internal/serving';
import { incompleteTailLength } from '../text/byte-text.ts';
import { decodeTokens, encodeText } from '../text/tokenizer.ts';
import { specialToken, specialTokenNames } from '../text/vocabulary.ts';

/**
 * Selects the part of a response that can be streamed before its end. Held back are incomplete characters, potential
 * stop texts or names of special tokens (which are escaped when the model spelled them as bytes), and everything from
 * the first special token on: it may be a tool call.
 */
export class StreamedText implements TextStream {
  readonly #watchwords: readonly string[];
  #pending: number[] = [];
  #shownLength = 0;
  #isHeldBack = false;

  /** @param stops Texts that end the response; never streamed. */
  constructor(stops: readonly string[]) {
    this.#watchwords = [...specialTokenNames, ...stops];
  }

  take(token: number): TextDelta {
    return { content: this.#next(token), reasoning: '' };
  }

  rest({ content }: Pick<ParsedResponse, 'content'>): TextDelta {
    return { content: (content ?? '').slice(this.#shownLength), reasoning: '' };
  }

  #next(token: number): string {
    if (token >= specialToken.end) this.#isHeldBack = true;
    if (this.#isHeldBack) return '';
    this.#pending.push(token);
    const whole = this.#pending.slice(0, this.#pending.length - incompleteTailLength(this.#pending));
    const text = decodeTokens(whole);
    const shown = text.slice(0, text.length - watchedLength(text, this.#watchwords));
    if (shown === '') return '';
    this.#pending = this.#pending.slice(encodeText(shown).length);
    this.#shownLength += shown.length;
    return shown;
  }
}

/** The length of the text's longest suffix that is a prefix of a stop text. */
function watchedLength(text: string, watchwords: readonly string[]): number {
  return Math.max(...watchwords.map((word) => overlap(text, word)));
}

function overlap(text: string, word: string): number {
  for (let length = Math.min(word.length, text.length); length > 0; length--) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}
