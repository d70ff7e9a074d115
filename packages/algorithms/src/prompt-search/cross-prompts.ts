import type { PromptSet } from '@agentlightning/core/algorithm';

/** Three versions: two, and one that both come from. */
export interface Crossing {
  readonly ancestor: PromptSet;
  readonly one: PromptSet;
  readonly other: PromptSet;
}

/**
 * A set with what each of two versions changed since their common ancestor. Of a prompt that both changed, the first
 * one's is taken.
 *
 * @returns null when one of them changed nothing that the other did not: then there is nothing to cross
 */
export function crossPrompts({ ancestor, one, other }: Crossing): PromptSet | null {
  const names = Object.keys(ancestor);
  const changedBy = (version: PromptSet): readonly string[] =>
    names.filter((name) => version[name]?.template !== ancestor[name]?.template);
  const byOne = changedBy(one);
  const onlyByOther = changedBy(other).filter((name) => !byOne.includes(name));
  const onlyByOne = byOne.filter((name) => !changedBy(other).includes(name));
  if (onlyByOne.length === 0 || onlyByOther.length === 0) return null;
  const taken = onlyByOther.flatMap((name) => {
    const prompt = other[name];
    return prompt === undefined ? [] : [[name, prompt] as const];
  });
  return { ...one, ...Object.fromEntries(taken) };
}
