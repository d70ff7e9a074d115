import { createRecipe, type RecipeOptions, recipeTypes } from '@agentlightning/algorithms';
import { AgentLightningError } from '@agentlightning/core';
import { environmentVariables } from './environment.ts';
import { nearestName } from './nearest-name.ts';
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
  assertKnown(algorithm);
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

function assertKnown(algorithm: unknown): void {
  const type = typeof algorithm === 'object' && algorithm !== null && 'type' in algorithm ? algorithm.type : undefined;
  if (typeof type !== 'string') return;
  const known: readonly string[] = recipeTypes;
  if (known.includes(type)) return;
  const nearest = nearestName(type, known);
  const hint = nearest === null ? '' : `; did you mean "${nearest}"?`;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `algorithm: there is none of the name "${type}"${hint}`,
    remedy: `Take one of ${known.join(', ')}.`,
  });
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
