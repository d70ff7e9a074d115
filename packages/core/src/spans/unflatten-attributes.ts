import type { NestedAttributes } from './flatten-attributes.ts';
import type { Attributes, AttributeValue } from './span.ts';

type Tree = Map<string, Tree | AttributeValue>;

/**
 * Restores nested data from dotted names: the inverse of `flattenAttributes`.
 *
 * Numeric names form a list only when they are exactly 0 to n−1. Where a name is both a value and a prefix of longer
 * names, the longer ones win.
 *
 * @param attributes - any attributes
 * @param prefix - selects names that start with it and a dot, and removes it. @default '' all
 *
 * @example
 * ```ts
 * unflattenAttributes({ 'tag.0': 'fast', 'tag.1': 'good', other: 1 }, 'tag'); // ['fast', 'good']
 * ```
 */
export function unflattenAttributes(attributes: Attributes, prefix = ''): NestedAttributes {
  const start = prefix === '' ? '' : `${prefix}.`;
  const root: Tree = new Map();
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith(start)) place(root, name.slice(start.length).split('.'), value);
  }
  return toNested(root);
}

function place(root: Tree, path: readonly string[], value: AttributeValue): void {
  const last = path.at(-1) ?? '';
  let node = root;
  for (const key of path.slice(0, -1)) {
    const next = node.get(key);
    const branch: Tree = next instanceof Map ? next : new Map();
    node.set(key, branch);
    node = branch;
  }
  if (!(node.get(last) instanceof Map)) node.set(last, value);
}

function toNested(tree: Tree): NestedAttributes {
  const entries = [...tree].map(([key, value]): [string, NestedAttributes] => [
    key,
    value instanceof Map ? toNested(value) : value,
  ]);
  const items = new Map(entries);
  const list = entries.map((_, index) => items.get(String(index)));
  // fromEntries defines own properties, so that a name such as `__proto__` stays a name.
  return entries.length > 0 && list.every((item) => item !== undefined) ? list : Object.fromEntries(entries);
}
