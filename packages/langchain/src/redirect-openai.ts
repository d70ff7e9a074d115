import { type RedirectedFetchOptions, redirectedFetch } from '@agentlightning/core/adapter';
import { fieldsOf } from './framework-value.ts';
import { hasMethod, type Method, patchMethod } from './patch-method.ts';

/**
 * Redirects the model calls of all clients of a class of the `openai` package, also of those that were made before
 * and keep the `fetch` that they found then.
 *
 * @param openAi - the class
 * @returns undoes it
 */
export function redirectOpenAi(openAi: unknown, options: Omit<RedirectedFetchOptions, 'fetch'>): () => void {
  const { prototype } = fieldsOf(openAi);
  // Version 4 is without this method, and of no use to the versions of LangChain that are supported.
  if (!hasMethod(prototype, 'fetchWithTimeout')) return () => {};
  return patchMethod(prototype, 'fetchWithTimeout', (original) => redirected(original, options));
}

function redirected(original: Method, options: Omit<RedirectedFetchOptions, 'fetch'>): Method {
  return function (this: unknown, ...args): unknown {
    const [input, init, ...rest] = args;
    const send: typeof fetch = (...request) => original.call(this, ...request, ...rest) as Promise<Response>;
    return redirectedFetch({ ...options, fetch: send })(input as string, init as RequestInit | undefined);
  };
}
