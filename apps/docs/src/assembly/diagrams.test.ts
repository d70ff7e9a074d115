import { expect, test } from 'vitest';
import { withDiagrams } from './diagrams.ts';

test('a Mermaid block becomes a drawing that loads nothing and stays one block', () => {
  const page = withDiagrams('Before.\n\n```mermaid\nflowchart LR\n  a[First] --> b[Second]\n```\n\nAfter.');
  const drawing = /^Before\.\n\n<figure class="diagram">\n(<svg[\s\S]*<\/svg>)\n<\/figure>\n\nAfter\.$/.exec(page)?.[1];
  expect(drawing).toContain('Second');
  expect(drawing).not.toMatch(/@import|fonts|url\(['"]?https?:|\n\s*\n/);
});

test('other code stays', () => {
  expect(withDiagrams('```ts\nconst a = 1;\n```')).toBe('```ts\nconst a = 1;\n```');
});
