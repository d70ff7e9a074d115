import { ValidationError } from '../base/agent-lightning-error.ts';
import { toAttributeList } from './attribute-value.ts';
import type { Attributes, AttributeValue } from './span.ts';

/** Nested data that can be flattened to attributes. */
export type NestedAttributes =
  | AttributeValue
  | readonly NestedAttributes[]
  | { readonly [key: string]: NestedAttributes | undefined };

/** Options of {@link flattenAttributes}. */
export interface FlattenOptions {
  /** Prefix of every name, joined by a dot. @default '' none */
  readonly prefix?: string;
  /** Whether lists of primitives are expanded to one name per entry. @default false */
  readonly expandLists?: boolean;
}

/**
 * Flattens nested data to attributes with dotted names: `{ a: { b: 1 } }` becomes `{ 'a.b': 1 }`.
 *
 * Lists of one primitive type are kept, other lists are expanded by index. Empty lists, empty objects and undefined
 * fields are omitted.
 *
 * @throws ValidationError when a leaf is not a string, boolean or finite number
 *
 * @example
 * ```ts
 * flattenAttributes({ check: { passed: true, steps: [1, 2] } });
 * // { 'check.passed': true, 'check.steps': [1, 2] }
 * ```
 */
export function flattenAttributes(data: NestedAttributes, options: FlattenOptions = {}): Attributes {
  const flat: Record<string, AttributeValue> = {};
  flattenInto(flat, { name: options.prefix ?? '', value: data, expandLists: options.expandLists ?? false });
  return flat;
}

interface Branch {
  readonly name: string;
  readonly value: unknown;
  readonly expandLists: boolean;
}

function flattenInto(flat: Record<string, AttributeValue>, branch: Branch): void {
  const { name, value, expandLists } = branch;
  if (value === undefined) return;
  if (isPrimitive(value)) {
    flat[name] = value;
    return;
  }
  if (Array.isArray(value)) {
    const list = expandLists || name === '' || value.length === 0 ? null : toAttributeList(value);
    if (list !== null) {
      flat[name] = list;
      return;
    }
    value.forEach((item: unknown, index) => {
      flattenInto(flat, { name: join(name, String(index)), value: item, expandLists });
    });
    return;
  }
  if (!isPlainObject(value)) throw notAnAttribute(name, value);
  for (const [key, item] of Object.entries(value)) {
    flattenInto(flat, { name: join(name, key), value: item, expandLists });
  }
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function join(prefix: string, key: string): string {
  return prefix === '' ? key : `${prefix}.${key}`;
}

function notAnAttribute(path: string, value: unknown): ValidationError {
  const kind = typeof value === 'object' ? (value?.constructor?.name ?? 'null') : typeof value;
  const shown = typeof value === 'number' ? String(value) : kind;
  return new ValidationError('span attributes', [
    { path, message: `must be a string, a boolean or a finite number, but is ${shown}` },
  ]);
}
