import { fieldsOf } from './foreign-value.ts';
import type { FetchLayerMaker } from './global-fetch.ts';
import { hasMethod, type Method, patchMethod } from './patch-method.ts';

/** What every request of a client of `openai` goes through. */
const sender = 'fetchWithTimeout';

/** What all clients of one copy of `openai` have in common. */
export type OpenAiPrototype = Record<typeof sender, Method>;

/**
 * What all clients of one copy of `openai` have in common.
 *
 * @param value - its class, one derived from it, a client, or the module
 * @returns null when it is none of these, or of version 4 or older
 */
export function openAiPrototype(value: unknown): OpenAiPrototype | null {
  const { OpenAI, prototype } = fieldsOf(value);
  let candidate: unknown = prototype ?? fieldsOf(OpenAI).prototype ?? value;
  // Azure's class, and those that users derive, inherit the method.
  while (hasMethod(candidate, sender) && !Object.hasOwn(candidate, sender))
    candidate = Object.getPrototypeOf(candidate);
  return hasMethod(candidate, sender) ? candidate : null;
}

/**
 * Lays a fetch over what all clients of a copy of `openai` send with, also of those that were made before: a client keeps
 * the global fetch that it found when it was made.
 *
 * @returns undoes it
 *
 * @example
 * ```ts
 * const prototype = openAiPrototype(OpenAI);
 * if (prototype !== null) layOverOpenAi(prototype, (inner) => redirectedFetch({ fetch: inner }));
 * ```
 */
export function layOverOpenAi(prototype: OpenAiPrototype, layer: FetchLayerMaker): () => void {
  return patchMethod(prototype, sender, (original) => {
    return function (this: unknown, ...args): unknown {
      const [input, init, ...rest] = args;
      const send: typeof fetch = (...request) => original.call(this, ...request, ...rest) as Promise<Response>;
      return layer(send)(input as string, init as RequestInit | undefined);
    };
  });
}
