/** Whether a character belongs to a class. */
type CharacterClass = (character: string) => boolean;

/**
 * Searches a text for characters, forwards and backwards, within bounds. It counts the characters read, so that tests
 * can verify linear complexity.
 */
export class TextScanner {
  readonly text: string;
  #charactersRead = 0;

  constructor(text: string) {
    this.text = text;
  }

  get charactersRead(): number {
    return this.#charactersRead;
  }

  /** Index of the first matching character in `[start, end)`; `end` without a match. */
  find(start: number, end: number, matches: CharacterClass): number {
    let at = start;
    while (at < end && !matches(this.text.charAt(at))) at += 1;
    this.#charactersRead += at - start + 1;
    return at;
  }

  /** Index of the last matching character in `[start, end)`; -1 without a match. */
  findLast(start: number, end: number, matches: CharacterClass): number {
    let at = end - 1;
    while (at >= start && !matches(this.text.charAt(at))) at -= 1;
    this.#charactersRead += end - at;
    return at < start ? -1 : at;
  }

  /** The text of `[start, end)`, counted as read. */
  read(start: number, end: number): string {
    this.#charactersRead += end - start;
    return this.text.slice(start, end);
  }
}
