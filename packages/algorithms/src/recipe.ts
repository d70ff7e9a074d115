import type { Algorithm } from '@agentlightning/core';
import type { PromptSearch } from '@agentlightning/core/algorithm';
import type { AlgorithmOptions, AlgorithmType } from './algorithm-options.ts';
import { apo } from './prompt-search/apo.ts';
import type { ApoOptions } from './prompt-search/apo-options.ts';
import { gepa } from './prompt-search/gepa.ts';
import type { GepaOptions } from './prompt-search/gepa-options.ts';
import { algorithmTypes, createAlgorithm, unknownRecipe } from './registry.ts';

/** A prompt search by name, with its options. */
export type PromptSearchOptions = ({ readonly type: 'apo' } & ApoOptions) | ({ readonly type: 'gepa' } & GepaOptions);

/** The names of the prompt searches. */ export type PromptSearchType = PromptSearchOptions['type'];

/** Every algorithm and prompt search of a configuration, with its options. */
export type RecipeOptions = AlgorithmOptions | PromptSearchOptions;

/** The name of an algorithm or a prompt search. */
export type RecipeType = AlgorithmType | PromptSearchType;

/** All prompt searches. Each validates its options. */
const searches: Readonly<Record<PromptSearchType, (options: never) => PromptSearch>> = { apo, gepa };

/** The names of the searches for better prompts. */
export const promptSearchTypes: readonly PromptSearchType[] = Object.keys(searches).filter(isPromptSearchType);

/** The names that {@link createRecipe} knows. */
export const recipeTypes: readonly RecipeType[] = [...algorithmTypes, ...promptSearchTypes];

/**
 * Creates an algorithm, which trains a model, or a prompt search. They are distinguished by `kind`.
 *
 * @param options - a name alone selects the defaults; a custom search is returned unchanged
 * @throws AgentLightningError with code `CONFIG` when the name is unknown or an option is wrong
 *
 * @example
 * ```ts
 * const recipe = createRecipe('apo');
 * if (recipe.kind === 'prompt-search') console.log(recipe.budget);
 * ```
 */
export function createRecipe(options: RecipeType | RecipeOptions | PromptSearch): Algorithm | PromptSearch {
  if (isPromptSearch(options)) return options;
  const given = typeof options === 'string' ? { type: options } : options;
  const { type, ...rest } = { ...given };
  // The search validates its options.
  if (isPromptSearchType(type)) return searches[type](rest as never);
  if (recipeTypes.includes(type)) return createAlgorithm(given as AlgorithmOptions);
  throw unknownRecipe(type, recipeTypes);
}

function isPromptSearch(options: unknown): options is PromptSearch {
  if (typeof options !== 'object' || options === null) return false;
  return 'kind' in options && options.kind === 'prompt-search' && 'run' in options && typeof options.run === 'function';
}

function isPromptSearchType(name: unknown): name is PromptSearchType {
  return typeof name === 'string' && Object.hasOwn(searches, name);
}
