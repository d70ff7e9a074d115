/** A promise with the functions that settle it, like `Promise.withResolvers`, which ES2023 lacks. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** Creates a promise with external settle functions. */
export function defer<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, 'promise'> = { resolve: () => {}, reject: () => {} };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}
