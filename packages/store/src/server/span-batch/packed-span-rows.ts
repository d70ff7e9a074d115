import type { SpanRow } from '../../span-row.ts';

/**
 * Rows of spans as they cross from thread to thread: a list of lists of texts is copied value by value, and each copy
 * of what they share is read, hashed and collected anew. Here that is sent once, all other text in a few pieces, and
 * numbers as bytes.
 */
export interface PackedSpanRows {
  /** The ids and names that rows share. */
  readonly shared: readonly string[];
  /** The span id and the body of every row, one after another. A row is not divided between two. */
  readonly texts: readonly string[];
  /** {@link numbersPerRow} for every row: places in `shared`, lengths in `texts`, and its own numbers; NaN for null. */
  readonly numbers: Float64Array<ArrayBuffer>;
}

const numbersPerRow = 10;
/** How long a piece of text is, about: memory for longer ones is found and given back one by one, at the cost of a copy. */
const charactersPerText = 48_000;

/** Packs rows. */
export function packSpanRows(rows: readonly SpanRow[]): PackedSpanRows {
  const shared = new SharedTexts();
  const numbers = new Float64Array(rows.length * numbersPerRow);
  const texts: string[] = [];
  let pieces: string[] = [];
  let length = 0;
  let at = 0;
  for (const row of rows) {
    const spanId = row[2];
    const body = row[9];
    numbers[at] = shared.placeOf(row[0], 0);
    numbers[at + 1] = shared.placeOf(row[1], 1);
    numbers[at + 2] = spanId.length;
    numbers[at + 3] = row[3] ?? Number.NaN;
    numbers[at + 4] = shared.placeOf(row[4], 2);
    numbers[at + 5] = row[5] === null ? Number.NaN : shared.placeOf(row[5], 3);
    numbers[at + 6] = shared.placeOf(row[6], 4);
    numbers[at + 7] = row[7] ?? Number.NaN;
    numbers[at + 8] = row[8] ?? Number.NaN;
    numbers[at + 9] = body.length;
    at += numbersPerRow;
    pieces.push(spanId, body);
    length += spanId.length + body.length;
    if (length < charactersPerText) continue;
    texts.push(pieces.join(''));
    pieces = [];
    length = 0;
  }
  texts.push(pieces.join(''));
  return { shared: shared.texts, texts, numbers };
}

/** Texts, each once. */
class SharedTexts {
  readonly texts: string[] = [];
  readonly #places = new Map<string, number>();
  /** Of each column, what it held last: rows that come together mostly have the same. */
  readonly #lastTexts: (string | null)[] = [null, null, null, null, null];
  readonly #lastPlaces: number[] = [0, 0, 0, 0, 0];

  placeOf(text: string, column: number): number {
    if (text === this.#lastTexts[column]) return this.#lastPlaces[column] ?? 0;
    let place = this.#places.get(text);
    if (place === undefined) {
      place = this.texts.push(text) - 1;
      this.#places.set(text, place);
    }
    this.#lastTexts[column] = text;
    this.#lastPlaces[column] = place;
    return place;
  }
}

/** The rows that were packed. */
export function unpackSpanRows({ shared, texts, numbers }: PackedSpanRows): readonly SpanRow[] {
  const rows: SpanRow[] = [];
  let piece = 0;
  let text = texts[0] ?? '';
  let textAt = 0;
  const numberAt = (index: number): number => numbers[index] ?? Number.NaN;
  const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);
  const sharedAt = (index: number): string => shared[numberAt(index)] ?? '';
  for (let at = 0; at < numbers.length; at += numbersPerRow) {
    const idLength = numberAt(at + 2);
    const bodyLength = numberAt(at + 9);
    if (textAt === text.length && idLength + bodyLength > 0) {
      piece += 1;
      text = texts[piece] ?? '';
      textAt = 0;
    }
    const bodyAt = textAt + idLength;
    const end = bodyAt + bodyLength;
    rows.push([
      sharedAt(at),
      sharedAt(at + 1),
      text.slice(textAt, bodyAt),
      orNull(numberAt(at + 3)),
      sharedAt(at + 4),
      Number.isNaN(numberAt(at + 5)) ? null : sharedAt(at + 5),
      sharedAt(at + 6),
      orNull(numberAt(at + 7)),
      orNull(numberAt(at + 8)),
      text.slice(bodyAt, end),
    ]);
    textAt = end;
  }
  return rows;
}
