/**
 * Suggestion for a mistyped name, appended to an error message.
 *
 * @param name - the unknown name
 * @param known - the permitted names
 * @returns `; did you mean "steps"?`, or an empty string without a close match
 *
 * @example
 * ```ts
 * console.log(`there is no option "stepz"${didYouMean('stepz', ['steps', 'seed'])}`);
 * ```
 */
export function didYouMean(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '' : `; did you mean "${nearest}"?`;
}

/** The most similar known name; null without a close match. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.edits - right.edits);
  if (best === undefined) return null;
  return best.edits <= Math.max(2, Math.floor(best.candidate.length / 2)) ? best.candidate : null;
}

/** Number of changed, inserted or deleted characters between two texts (Levenshtein 1966). */
function editDistance(one: string, other: string): number {
  // For each prefix of `other`, the distance to the processed prefix of `one`.
  let row = Array.from({ length: other.length + 1 }, (_, length) => length);
  for (const [index, character] of [...one].entries()) {
    let diagonal = index;
    row = row.reduce<number[]>((next, above, place) => {
      const left = next[place - 1];
      next.push(
        left === undefined
          ? index + 1
          : Math.min(above + 1, left + 1, diagonal + (other[place - 1] === character ? 0 : 1)),
      );
      diagonal = above;
      return next;
    }, []);
  }
  return row[other.length] ?? 0;
}
