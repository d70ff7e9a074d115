import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import type { SearchLimits } from './search-run-state.ts';

/** The configured limits of a search. */
export function limitsOf({ search, algorithm }: Pick<ResolvedPromptSearch, 'search' | 'algorithm'>): SearchLimits {
  const { maxRollouts, maxOptimizerCalls } = search.budget;
  const { rounds, stopAtScore } = algorithm;
  return { maxRollouts, maxOptimizerCalls, rounds: numberOf(rounds), stopAtScore: numberOf(stopAtScore) };
}

/** Whether the limits of an ended search have changed, so that it may continue. */
export function areOtherLimits(ended: SearchLimits | null, now: SearchLimits): boolean {
  if (ended === null) return false;
  return limitNames.some((name) => ended[name] !== now[name]);
}

const limitNames = ['maxRollouts', 'maxOptimizerCalls', 'rounds', 'stopAtScore'] as const;

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
