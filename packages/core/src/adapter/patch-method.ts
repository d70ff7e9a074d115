import { fieldsOf } from '../spans/unknown-value.ts';

/** A method of a foreign class, with unknown parameters and result. */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Whether a value has a method. */
export function hasMethod<TName extends string>(value: unknown, name: TName): value is Record<TName, Method> {
  return typeof fieldsOf(value)[name] === 'function';
}

/**
 * Replaces a method of a class or of one object.
 *
 * @returns restores the original. If a foreign patch has replaced this one since, this one stays beneath it and only
 * delegates
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
  // A proxy, so that other properties of the original, such as those of a spy, are preserved.
  const patched = new Proxy(original, {
    apply: (_, self: unknown, args: unknown[]) => (isActive ? wrapped : original).apply(self, args),
  });
  const { enumerable = false } = descriptor ?? {};
  const place =
    descriptor?.get === undefined && descriptor !== undefined
      ? descriptor
      : { configurable: true, enumerable, writable: true };
  Object.defineProperty(holder, name, { ...place, value: patched });
  return () => {
    isActive = false;
    if (Object.getOwnPropertyDescriptor(holder, name)?.value !== patched) return;
    if (descriptor === undefined) Reflect.deleteProperty(holder, name);
    else Object.defineProperty(holder, name, descriptor);
  };
}

/**
 * Replaces methods of a class or of one object; those that it does not have are skipped.
 *
 * @returns the undo of each replaced method; see {@link patchMethod}
 */
export function patchMethods(
  holder: unknown,
  names: readonly string[],
  wrap: (original: Method, name: string) => Method,
): readonly (() => void)[] {
  return names.flatMap((name) =>
    hasMethod(holder, name) ? [patchMethod(holder, name, (original) => wrap(original, name))] : [],
  );
}
