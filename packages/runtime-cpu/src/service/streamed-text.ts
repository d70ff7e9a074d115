import { incompleteTailLength } from '../text/byte-text.ts';
import { decodeTokens, encodeText } from '../text/tokenizer.ts';
import { specialToken, specialTokenNames } from '../text/vocabulary.ts';

/**
 * Decides which part of a response may be shown before its end. Held back are bytes that may still become a
 * character, text that may become a stop text or the name of a special token (which is spelt otherwise when the model
 * wrote it letter by letter), and everything from the first special token on: it may be a tool call.
 */
export class StreamedText {
  readonly #watchwords: readonly string[];
  #pending: number[] = [];
  #shownLength = 0;
  #isHeldBack = false;

  /** @param stops Texts that end the response; none of them is ever shown. */
  constructor(stops: readonly string[]) {
    this.#watchwords = [...specialTokenNames, ...stops];
  }

  /** Takes the next token and gives the text to show now; empty when there is none. */
  take(token: number): string {
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

  /** What is left to show of the whole text. */
  rest(text: string): string {
    return text.slice(this.#shownLength);
  }
}

/** The length of the text's tail that is a watchword or begins one. */
function watchedLength(text: string, watchwords: readonly string[]): number {
  return Math.max(...watchwords.map((word) => overlap(text, word)));
}

function overlap(text: string, word: string): number {
  for (let length = Math.min(word.length, text.length); length > 0; length--) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}
