import { createRecipe, type RecipeOptions } from '@agentlightning/algorithms/internal';
import { AgentLightningError } from '@agentlightning/core';
import { withType } from './algorithm-name.ts';
import { ConfigProblems } from './config-problems.ts';
import { requireCurrentKeys } from './renamed-keys.ts';
import { type ResolvedConfig, resolveConfig } from './resolve-config.ts';
import { type ResolvedPromptSearch, resolvePromptSearch } from './resolve-prompt-search.ts';
import { resolveStages } from './resolve-stages.ts';

/** A validated configuration of a training or a prompt search. */
export type ResolvedRun = ResolvedConfig | ResolvedPromptSearch;

/** Whether a run searches for prompts; otherwise it trains a model. */
export function isPromptSearch(run: ResolvedRun): run is ResolvedPromptSearch {
  return 'kind' in run;
}

/**
 * Validates a configuration and adds its defaults. The kind of its algorithm determines the permitted keys.
 *
 * @param value - the export of the configuration file
 * @param folder - base folder of relative paths
 * @throws AgentLightningError CONFIG that reports every problem, and the most likely name for each unknown option
 */
export function resolveRun(value: unknown, folder: string): ResolvedRun {
  const problems = new ConfigProblems();
  const given = requireCurrentKeys(typeof value === 'object' ? { ...value } : {}, problems);
  if (given['stages'] !== undefined) return resolveStages(given, { folder, problems });
  const algorithm = withType(given['algorithm']);
  const recipe = algorithm === undefined ? null : problems.check(() => createRecipe(algorithm as RecipeOptions));
  const isSearch = recipe === undefined ? searchKeys.some((key) => key in given) : recipe?.kind === 'prompt-search';
  if (isSearch) {
    const search = recipe?.kind === 'prompt-search' ? recipe : undefined;
    return resolvePromptSearch(given, { search, folder, problems });
  }
  const isTrainable = problems.check(() => assertTrainable(given['runtime'])) ?? false;
  // Problems that are already reported are omitted.
  const rest = {
    algorithm: recipe === undefined ? undefined : algorithm,
    ...(isTrainable ? {} : { runtime: undefined }),
  };
  return resolveConfig(typeof value === 'object' ? { ...given, ...rest } : value, folder, problems);
}

/** Keys that identify a search when its algorithm is invalid. */
const searchKeys = ['optimizer', 'prompts'] as const;

function assertTrainable(runtime: unknown): true {
  if (typeof runtime !== 'object' || runtime === null || !('type' in runtime) || runtime.type !== 'endpoint')
    return true;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'runtime: the model behind an endpoint cannot be trained',
    remedy:
      "Search for better prompts with algorithm 'apo' or 'gepa', or train with a runtime of type 'embedded', 'grpc' or 'tinker'.",
  });
}
