/** Maximum number of runs in a comparison. */
export const maxCompared = 8;

/** The runs of a comparison, from their ids separated by commas. */
export function runIdsOf(text: string | undefined): readonly string[] {
  const ids = (text ?? '').split(',').filter((id) => id !== '');
  return [...new Set(ids)].slice(0, maxCompared);
}
