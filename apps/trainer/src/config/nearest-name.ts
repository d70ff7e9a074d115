import { distance } from 'fastest-levenshtein';

/** The known name that a mistyped one most likely meant; null when none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const ranked = known
    .map((candidate) => ({ candidate, edits: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.edits - right.edits);
  const best = ranked[0];
  if (best === undefined) return null;
  return best.edits <= Math.max(2, Math.floor(best.candidate.length / 2)) ? best.candidate : null;
}
