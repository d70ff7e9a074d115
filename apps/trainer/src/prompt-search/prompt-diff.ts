import type { PromptSet } from '@agentlightning/core/algorithm';
import { createTwoFilesPatch } from 'diff';

/** A version of prompts, with what it is called. */
export interface NamedPrompts {
  readonly version: string;
  readonly prompts: PromptSet;
}

/** What changed from one version to another, as a unified diff of each prompt that differs; empty when none does. */
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

/** A template seldom ends with a newline, and nobody wants to be told. */
function withEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
