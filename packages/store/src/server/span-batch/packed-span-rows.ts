import type { SpanRow } from '../../span-row.ts';

/**
 * Rows of spans as they cross from thread to thread: a list of lists of texts is copied value by value, and each copy
 * of what they share is read, hashed and collected anew. Here that is sent once, all other text as one, and numbers as bytes.
 */
export interface PackedSpanRows {
  /** The ids and names that rows share. */
  readonly shared: readonly string[];
  /** The span id and the body of every row, one after another. */
  readonly text: string;
  /** {@link numbersPerRow} for every row: places in `shared`, lengths in `text`, and its own numbers; NaN for null. */
  readonly numbers: Float64Array<ArrayBuffer>;
}

const numbersPerRow = 10;

/** Packs rows. */
export function packSpanRows(rows: readonly SpanRow[]): PackedSpanRows {
  const places = new Map<string, number>();
  const numbers = new Float64Array(rows.length * numbersPerRow);
  const texts: string[] = [];
  let at = 0;
  const placeOf = (text: string): number => {
    const known = places.get(text);
    if (known !== undefined) return known;
    places.set(text, places.size);
    return places.size - 1;
  };
  const add = (number: number | null): void => {
    numbers[at] = number ?? Number.NaN;
    at += 1;
  };
  for (const [
    rolloutId,
    attemptId,
    spanId,
    sequenceId,
    traceId,
    parentId,
    name,
    startTimeMs,
    endTimeMs,
    body,
  ] of rows) {
    add(placeOf(rolloutId));
    add(placeOf(attemptId));
    add(spanId.length);
    add(sequenceId);
    add(placeOf(traceId));
    add(parentId === null ? null : placeOf(parentId));
    add(placeOf(name));
    add(startTimeMs);
    add(endTimeMs);
    add(body.length);
    texts.push(spanId, body);
  }
  return { shared: [...places.keys()], text: texts.join(''), numbers };
}

/** The rows that were packed. */
export function unpackSpanRows({ shared, text, numbers }: PackedSpanRows): readonly SpanRow[] {
  const rows: SpanRow[] = [];
  let textAt = 0;
  const numberAt = (index: number): number => numbers[index] ?? Number.NaN;
  const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);
  const sharedAt = (index: number): string => shared[numberAt(index)] ?? '';
  for (let at = 0; at < numbers.length; at += numbersPerRow) {
    const bodyAt = textAt + numberAt(at + 2);
    const end = bodyAt + numberAt(at + 9);
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
