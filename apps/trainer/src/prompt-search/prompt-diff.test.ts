import type { PromptSet } from '@agentlightning/core/algorithm';
import { expect, test } from 'vitest';
import { promptDiff } from './prompt-diff.ts';
import { promptsDigest } from './prompt-resources.ts';

function prompts(templates: Readonly<Record<string, string>>): PromptSet {
  const entries = Object.entries(templates).map(([name, template]) => {
    return [name, { resourceType: 'prompt_template', template, engine: 'f-string' }] as const;
  });
  return Object.fromEntries(entries);
}

test('shows what changed in each prompt that did, line by line', () => {
  const from = { version: 'v0', prompts: prompts({ a: 'One\n{x}', b: 'Same' }) };
  const to = { version: 'v3', prompts: prompts({ a: 'One\nTwo\n{x}', b: 'Same' }) };
  const kinds = { a: 'instruction', b: 'tool' } as const;
  expect(promptDiff(from, to, kinds)).toBe('--- a v0\n+++ a v3\n@@ -1,2 +1,3 @@\n One\n+Two\n {x}');
  expect(promptDiff(from, from, kinds)).toBe('');
  const changed = { version: 'v4', prompts: prompts({ a: 'One\n{x}', b: 'New' }) };
  expect(promptDiff(from, changed, kinds)).toBe('--- b (tool) v0\n+++ b (tool) v4\n@@ -1,1 +1,1 @@\n-Same\n+New');
});

test('prompts that say the same have the same digest, in whatever order they come', () => {
  expect(promptsDigest(prompts({ a: '1', b: '2' }))).toBe(promptsDigest(prompts({ b: '2', a: '1' })));
  expect(promptsDigest(prompts({ a: '1', b: '2' }))).not.toBe(promptsDigest(prompts({ a: '2', b: '1' })));
});
