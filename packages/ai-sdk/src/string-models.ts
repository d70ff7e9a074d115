import { currentRollout } from '@agentlightning/core';

/** A minimal AI SDK provider, such as the result of `createOpenAICompatible(…)`. */
export interface LanguageModelProvider {
  /** The model of an id. */
  languageModel(modelId: string): unknown;
}

const key = 'AI_SDK_DEFAULT_PROVIDER';

/**
 * Resolves models given as a string with this provider in rollouts with an endpoint. Outside them the global default
 * provider or Vercel's AI Gateway is used.
 *
 * @returns the undo
 */
export function provideStringModels(provider: LanguageModelProvider): () => void {
  const before = Object.getOwnPropertyDescriptor(globalThis, key);
  let value: unknown = Reflect.get(globalThis, key);
  const get = (): unknown => (currentRollout()?.endpoint ? withLanguageModels(value, provider) : value);
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

/** The user's default provider with the language models of another one, or that other one alone. */
function withLanguageModels(own: unknown, provider: LanguageModelProvider): unknown {
  if (own === undefined || own === null) return provider;
  return Object.create(own, { languageModel: { value: (modelId: string) => provider.languageModel(modelId) } });
}
