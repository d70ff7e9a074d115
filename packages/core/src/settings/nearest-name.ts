/**
 * Asks whether another name was meant, to go on a message about one that is not known.
 *
 * @param name - what was written
 * @param known - what could have been
 * @returns `; did you mean "steps"?`, or an empty text when nothing is near
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

/** The known name that a mistyped one most likely meant; null when none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.edits - right.edits);
  if (best === undefined) return null;
  return best.edits <= Math.max(2, Math.floor(best.candidate.length / 2)) ? best.candidate : null;
}

/** How many characters must be changed, added or taken away to get from one text to the other (Levenshtein 1966). */
function editDistance(one: string, other: string): number {
  // For each beginning of `other`, the distance to the characters of `one` so far.
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
