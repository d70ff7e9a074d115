/** Maximum size of the data of a result, in characters of JSON. */
export const maxDataCharacters = 40_000;

/** Limits of the kept part of a value. */
interface Limits {
  /** Maximum number of items of a list and of fields of an object. */
  readonly items: number;
  /** Maximum length of a text in characters. */
  readonly characters: number;
}

/** In descending order; the first limit that the value fits applies. */
const steps: readonly Limits[] = [
  { items: 400, characters: 8000 },
  { items: 100, characters: 2000 },
  { items: 40, characters: 800 },
  { items: 16, characters: 300 },
  { items: 6, characters: 160 },
];

const maxDepth = 12;

/** Omitted parts of a value. */
export interface Omitted {
  /** Items of lists and fields of objects. */
  readonly items: number;
  /** Characters of texts. */
  readonly characters: number;
}

/** A value of limited size and its omitted parts. */
export interface TruncatedValue {
  readonly value: unknown;
  readonly omitted: Omitted;
}

/** Keeps the start and the end of lists and texts, so that the JSON of a value has at most {@link maxDataCharacters}. */
export function truncateValue(value: unknown): TruncatedValue {
  for (const limits of steps) {
    const omitted = { items: 0, characters: 0 };
    const cut = cutValue(value, { limits, omitted, depth: 0 });
    if (JSON.stringify(cut ?? null).length <= maxDataCharacters) return { value: cut, omitted };
  }
  const { text, omitted } = truncateText(JSON.stringify(value), maxDataCharacters / 4);
  return { value: text, omitted: { items: 0, characters: omitted } };
}

/** The start and the end of a text, and the number of omitted characters. */
export function truncateText(text: string, characters: number): { readonly text: string; readonly omitted: number } {
  if (text.length <= characters) return { text, omitted: 0 };
  const half = Math.floor(characters / 2);
  const omitted = text.length - 2 * half;
  return { text: `${text.slice(0, half)} […${omitted} characters omitted…] ${text.slice(-half)}`, omitted };
}

interface Cut {
  readonly limits: Limits;
  readonly omitted: { items: number; characters: number };
  readonly depth: number;
}

function cutValue(value: unknown, cut: Cut): unknown {
  if (typeof value === 'string') return cutText(value, cut);
  if (typeof value !== 'object' || value === null) return value;
  if (cut.depth >= maxDepth) return cutText(JSON.stringify(value), cut);
  const inner = { ...cut, depth: cut.depth + 1 };
  if (Array.isArray(value)) return cutList(value, cut).map((item) => cutValue(item, inner));
  return Object.fromEntries(
    cutList(Object.entries(value), cut).map(([name, item]) => [cutText(name, cut), cutValue(item, inner)]),
  );
}

function cutText(value: string, { limits, omitted }: Cut): string {
  const { text, omitted: count } = truncateText(value, limits.characters);
  omitted.characters += count;
  return text;
}

function cutList<TItem>(list: readonly TItem[], { limits, omitted }: Cut): readonly TItem[] {
  if (list.length <= limits.items) return list;
  omitted.items += list.length - limits.items;
  const half = limits.items / 2;
  return [...list.slice(0, half), ...list.slice(-half)];
}
