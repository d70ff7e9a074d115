import type { PromptSet } from '@agentlightning/core/algorithm';

/** Two versions and their common ancestor. */
export interface PromptMerge {
  readonly ancestor: PromptSet;
  readonly one: PromptSet;
  readonly other: PromptSet;
}

/**
 * Merges the changes of two versions since their common ancestor. For a prompt that both changed, the first version takes
 * precedence.
 *
 * @returns null when the changes of one version are a subset of the other's
 */
export function mergePrompts({ ancestor, one, other }: PromptMerge): PromptSet | null {
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
