import type { PromptSet } from '@agentlightning/core/algorithm';
import { createTwoFilesPatch } from 'diff';
import type { PromptKinds } from './prompts-file.ts';

/** A named version of prompts. */
export interface NamedPrompts {
  readonly version: string;
  readonly prompts: PromptSet;
}

/** The kind of a prompt after its name; empty for an instruction. */
export function kindText(kind: PromptKinds[string] | undefined): string {
  return kind === undefined || kind === 'instruction' ? '' : ` (${kind})`;
}

/** Unified diff of the prompts that differ between two versions; empty when all are equal. */
export function promptDiff(from: NamedPrompts, to: NamedPrompts, kinds: PromptKinds): string {
  const names = [...new Set([...Object.keys(from.prompts), ...Object.keys(to.prompts)])].sort();
  return names
    .flatMap((name) => {
      const before = from.prompts[name]?.template ?? '';
      const after = to.prompts[name]?.template ?? '';
      if (before === after) return [];
      const title = `${name}${kindText(kinds[name])}`;
      const [old, changed] = [`${title} ${from.version}`, `${title} ${to.version}`];
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
