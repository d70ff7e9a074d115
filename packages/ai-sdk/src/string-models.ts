import { currentRollout } from '@agentlightning/core';

/** A provider of the AI SDK, as far as it is used here: what `createOpenAICompatible(…)` gives. */
export interface LanguageModelProvider {
  languageModel(modelId: string): unknown;
}

const key = 'AI_SDK_DEFAULT_PROVIDER';

/**
 * Lets models that are named by a text come from this provider, in rollouts that have an endpoint. Elsewhere they come
 * from where they would without it: the default provider that is set, or Vercel's AI Gateway.
 *
 * @returns undoes it
 */
export function provideStringModels(provider: LanguageModelProvider): () => void {
  const before = Object.getOwnPropertyDescriptor(globalThis, key);
  let value: unknown = Reflect.get(globalThis, key);
  const get = (): unknown => (currentRollout()?.endpoint ? inPlaceOf(value, provider) : value);
  const set = (next: unknown): void => {
    value = next;
  };
  Object.defineProperty(globalThis, key, { configurable: true, enumerable: true, get, set });
  return () => {
    if (Object.getOwnPropertyDescriptor(globalThis, key)?.get !== get) return;
    Reflect.deleteProperty(globalThis, key);
    if (before?.get !== undefined) Object.defineProperty(globalThis, key, before);
    else if (before !== undefined || value !== undefined) Reflect.set(globalThis, key, value);
  };
}

/** The user's default provider with language models from another; that other alone where there is none. */
function inPlaceOf(own: unknown, provider: LanguageModelProvider): unknown {
  if (own === undefined || own === null) return provider;
  return Object.create(own, { languageModel: { value: (modelId: string) => provider.languageModel(modelId) } });
}
