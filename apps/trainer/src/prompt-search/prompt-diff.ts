import type { PromptSet } from '@agentlightning/core/algorithm';
import { createTwoFilesPatch } from 'diff';

/** A named version of prompts. */
export interface NamedPrompts {
  readonly version: string;
  readonly prompts: PromptSet;
}

/** Unified diff of the prompts that differ between two versions; empty when all are equal. */
export function promptDiff(from: NamedPrompts, to: NamedPrompts): string {
  const names = [...new Set([...Object.keys(from.prompts), ...Object.keys(to.prompts)])].sort();
  return names
    .flatMap((name) => {
      const before = from.prompts[name]?.template ?? '';
      const after = to.prompts[name]?.template ?? '';
      if (before === after) return [];
      const [old, changed] = [`${name} ${from.version}`, `${name} ${to.version}`];
      const patch = createTwoFilesPatch(old, changed, withEnd(before), withEnd(after), undefined, undefined, {
        context: 3,
      });
      return patch
        .split('\n')
        .filter((line) => !/^=+$/.test(line))
        .join('\n')
        .trimEnd();
    })
    .join('\n');
}

/** Templates rarely end with a newline; this avoids the diff's note about it. */
function withEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
