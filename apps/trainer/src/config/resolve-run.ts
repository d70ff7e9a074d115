import { createRecipe, type RecipeOptions } from '@agentlightning/algorithms';
import { AgentLightningError } from '@agentlightning/core';
import { environmentVariables } from './environment.ts';
import { type ResolvedConfig, resolveConfig } from './resolve-config.ts';
import { type ResolvedPromptSearch, resolvePromptSearch } from './resolve-prompt-search.ts';

/** A checked configuration: of a training, or of a search for prompts. */
export type ResolvedRun = ResolvedConfig | ResolvedPromptSearch;

/** Whether a run searches for prompts; otherwise it trains a model. */
export function isPromptSearch(run: ResolvedRun): run is ResolvedPromptSearch {
  return 'kind' in run;
}

/**
 * Checks a configuration and fills in its defaults. What kind of algorithm it names decides what else it may have.
 *
 * @param value - what the configuration file exports
 * @param folder - the folder that relative paths start from
 * @throws AgentLightningError CONFIG that names every wrong key, and the nearest right one
 */
export function resolveRun(value: unknown, folder: string): ResolvedRun {
  const given: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  const algorithm = withType(given['algorithm']);
  if (algorithm !== undefined && createRecipe(algorithm as RecipeOptions).kind === 'prompt-search') {
    return resolvePromptSearch(given, folder, environmentVariables());
  }
  assertTrainable(given['runtime']);
  return resolveConfig(typeof value === 'object' ? { ...value, algorithm } : value, folder);
}

/** A name alone takes the defaults. */
function withType(algorithm: unknown): unknown {
  return typeof algorithm === 'string' ? { type: algorithm } : algorithm;
}

function assertTrainable(runtime: unknown): void {
  if (typeof runtime !== 'object' || runtime === null || !('type' in runtime) || runtime.type !== 'endpoint') return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'runtime: the model behind an endpoint cannot be trained',
    remedy:
      "Search for better prompts with algorithm 'apo' or 'gepa', or train with a runtime of type 'embedded' or 'grpc'.",
  });
}
