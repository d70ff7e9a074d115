import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import type { SearchLimits } from './search-run-state.ts';

/** What ends a search, as it is configured. */
export function limitsOf({ search, algorithm }: Pick<ResolvedPromptSearch, 'search' | 'algorithm'>): SearchLimits {
  const { maxRollouts, maxOptimizerCalls } = search.budget;
  const { rounds, stopAtScore } = algorithm;
  return { maxRollouts, maxOptimizerCalls, rounds: numberOf(rounds), stopAtScore: numberOf(stopAtScore) };
}

/** Whether a search that has ended was given other limits since, so that there may be more to do. */
export function areOtherLimits(ended: SearchLimits | null, now: SearchLimits): boolean {
  if (ended === null) return false;
  return limitNames.some((name) => ended[name] !== now[name]);
}

const limitNames = ['maxRollouts', 'maxOptimizerCalls', 'rounds', 'stopAtScore'] as const;

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
