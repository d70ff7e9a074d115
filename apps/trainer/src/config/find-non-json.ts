/**
 * Finds a value that JSON does not preserve: a bigint, NaN, a Date, a Map, a cycle. An undefined property is equivalent to
 * an absent one.
 *
 * @returns a description of the first such value, such as `field "due" is a Date`; null when every value is JSON
 */
export function findNonJson(value: unknown): string | null {
  return problemOf(value, { path: [], within: [] });
}

/** Location of a value. */
interface Place {
  readonly path: readonly string[];
  /** The enclosing objects and lists. */
  readonly within: readonly object[];
}

function problemOf(value: unknown, place: Place): string | null {
  if (value === null || isCertain(value)) return null;
  if (typeof value === 'number') return `${nameOf(place)} is ${value}`;
  if (typeof value !== 'object') return `${nameOf(place)} is ${value === undefined ? '' : 'a '}${typeof value}`;
  if (place.within.includes(value)) return `${nameOf(place)} contains itself`;
  if (!Array.isArray(value) && !isPlain(value)) return `${nameOf(place)} is a ${classOf(value)}`;
  // By index, to detect holes in sparse lists, which JSON replaces by null.
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const inner: unknown = Reflect.get(value, key);
    if (isCertain(inner) || (inner === undefined && !Array.isArray(value))) continue;
    const problem = problemOf(inner, { path: [...place.path, String(key)], within: [...place.within, value] });
    if (problem !== null) return problem;
  }
  return null;
}

/** Whether a value is a primitive that JSON preserves; a fast check for long lists, such as token ids. */
function isCertain(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function nameOf({ path }: Place): string {
  return path.length === 0 ? 'it' : `field "${path.join('.')}"`;
}

/** Whether a value is a plain object, also from another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function classOf(value: object): string {
  return value.constructor.name || 'nameless class';
}
