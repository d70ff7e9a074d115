import { fieldsOf } from './foreign-value.ts';

/** A method of a class that is not ours: what goes in and out is its own business. */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Whether a value has a method. */
export function hasMethod<TName extends string>(value: unknown, name: TName): value is Record<TName, Method> {
  return typeof fieldsOf(value)[name] === 'function';
}

/**
 * Puts a method in the place of another, of a class or of one object.
 *
 * @returns puts the old one back, exactly as it was. Where somebody else has replaced ours meanwhile, it stays beneath
 * theirs and only passes on
 *
 * @example
 * ```ts
 * const undo = patchMethod(Model.prototype, 'ask', (original) =>
 *   function (this: unknown, ...args) {
 *     return steps.within(runId, () => original.apply(this, args));
 *   },
 * );
 * ```
 */
export function patchMethod<TName extends string>(
  holder: Record<TName, Method>,
  name: TName,
  wrap: (original: Method) => Method,
): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(holder, name);
  const original: Method = holder[name];
  const wrapped = wrap(original);
  let isActive = true;
  // A proxy, so that whatever else the old one is, such as a spy, it still is.
  const patched = new Proxy(original, {
    apply: (_, self: unknown, args: unknown[]) => (isActive ? wrapped : original).apply(self, args),
  });
  const place = descriptor ?? { configurable: true, enumerable: false, writable: true };
  Object.defineProperty(holder, name, { ...place, value: patched });
  return () => {
    isActive = false;
    if (Object.getOwnPropertyDescriptor(holder, name)?.value !== patched) return;
    if (descriptor === undefined) Reflect.deleteProperty(holder, name);
    else Object.defineProperty(holder, name, descriptor);
  };
}
