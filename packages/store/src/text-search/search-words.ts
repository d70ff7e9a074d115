import { ValidationError } from '@agentlightning/core';

/** Maximum characters of a word; longer words are truncated, in texts and in searches. */
const wordLength = 64;
/** Maximum number of words of a search. */
const maxSearchWords = 32;

// Scripts without spaces between words: each character is a word.
const wordPattern = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+/gu;

/** A word of a search. */
export interface SearchWord {
  /** Letters, marks and digits only. */
  readonly word: string;
  /** Whether it matches all words that start with it. */
  readonly isPrefix: boolean;
}

/** The words of a text: lower-case sequences of letters and digits. */
export function wordsOf(text: string): readonly string[] {
  const words = text.normalize('NFKC').toLowerCase().match(wordPattern) ?? [];
  return words.map((word) => (word.length > wordLength ? [...word].slice(0, wordLength).join('') : word));
}

/**
 * Parses the text of a search.
 *
 * @throws ValidationError when it has no word, or more than 32
 */
export function parseSearchText(text: string): readonly SearchWord[] {
  const parsed = text.split(/\s+/u).flatMap((part) => {
    const words = wordsOf(part);
    return words.map((word, index) => ({ word, isPrefix: part.endsWith('*') && index === words.length - 1 }));
  });
  if (parsed.length === 0) throw invalid('must contain a letter or digit');
  if (parsed.length > maxSearchWords) throw invalid(`must have at most ${maxSearchWords} words, got ${parsed.length}`);
  return parsed;
}

function invalid(message: string): ValidationError {
  return new ValidationError('Search', [{ path: 'text', message }]);
}
