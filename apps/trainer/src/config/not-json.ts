/**
 * What in a value JSON cannot hold, or would give back as something else: a bigint, NaN, a Date, a Map, a cycle.
 * A property that is undefined is one that is not there.
 *
 * @returns a description of the first such value, such as `field "due" is a Date`; null when every value is JSON
 */
export function notJson(value: unknown): string | null {
  return problemOf(value, { path: [], within: [] });
}

/** Where a value is. */
interface Place {
  readonly path: readonly string[];
  /** The objects and lists around it. */
  readonly within: readonly object[];
}

function problemOf(value: unknown, place: Place): string | null {
  if (value === null || isCertain(value)) return null;
  if (typeof value === 'number') return `${nameOf(place)} is ${value}`;
  if (typeof value !== 'object') return `${nameOf(place)} is ${value === undefined ? '' : 'a '}${typeof value}`;
  if (place.within.includes(value)) return `${nameOf(place)} contains itself`;
  if (!Array.isArray(value) && !isPlain(value)) return `${nameOf(place)} is a ${classOf(value)}`;
  // By the places of a list, so that one with nothing in it, which JSON fills with null, is seen.
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const inner: unknown = Reflect.get(value, key);
    if (isCertain(inner) || (inner === undefined && !Array.isArray(value))) continue;
    const problem = problemOf(inner, { path: [...place.path, String(key)], within: [...place.within, value] });
    if (problem !== null) return problem;
  }
  return null;
}

/** Most of what is in a task, such as each of a long list of tokens: looked at without noting where it is. */
function isCertain(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function nameOf({ path }: Place): string {
  return path.length === 0 ? 'it' : `field "${path.join('.')}"`;
}

/** Made by `{}`, here or in another realm: nothing of it is lost in JSON. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function classOf(value: object): string {
  return value.constructor.name || 'nameless class';
}
