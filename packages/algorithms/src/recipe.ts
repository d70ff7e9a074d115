import type { Algorithm, PromptSearch } from '@agentlightning/core';
import type { AlgorithmOptions, AlgorithmType } from './algorithm-options.ts';
import { apo } from './prompt-search/apo.ts';
import type { ApoOptions } from './prompt-search/apo-options.ts';
import { gepa } from './prompt-search/gepa.ts';
import type { GepaOptions } from './prompt-search/gepa-options.ts';
import { algorithmTypes, createAlgorithm } from './registry.ts';
import { unknownRecipe } from './unknown-recipe.ts';

/** A search for better prompts by name, with its options. */
export type PromptSearchOptions = ({ readonly type: 'apo' } & ApoOptions) | ({ readonly type: 'gepa' } & GepaOptions);

/** The names of the searches for better prompts. */
export type PromptSearchType = PromptSearchOptions['type'];

/** Everything that a configuration may name as its algorithm, with its options. */
export type RecipeOptions = AlgorithmOptions | PromptSearchOptions;

/** The name of anything that makes agents better. */
export type RecipeType = AlgorithmType | PromptSearchType;

/** Every search for prompts: a new one is a file and a line here. Each checks its options, and says what is wrong. */
const searches: Readonly<Record<PromptSearchType, (options: never) => PromptSearch>> = { apo, gepa };

/** The names of the searches for better prompts. */
export const promptSearchTypes: readonly PromptSearchType[] = Object.keys(searches).filter(isPromptSearchType);

/** The names that {@link createRecipe} knows. */
export const recipeTypes: readonly RecipeType[] = [...algorithmTypes, ...promptSearchTypes];

/**
 * Makes whatever the options name: an algorithm that trains a model, or a search for better prompts. Their `kind` says
 * them apart.
 *
 * @param options - a name alone takes the defaults; a custom search is returned unchanged
 * @throws AgentLightningError with code `CONFIG` when there is nothing of that name, or an option is wrong
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
  // Whatever it is, the search refuses what is not its own.
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
