import { expect, test } from 'vitest';
import { convertDocument } from '../src/assembly/convert-document.ts';
import { documentSlug } from '../src/assembly/document-slug.ts';
import { pageText } from '../src/assembly/page.ts';
import { withoutSearchWeight } from '../src/site-integrations.ts';

const convert = (text: string, path = 'packages/core/README.md') =>
  convertDocument({ path, text, slug: documentSlug(path) ?? '', order: 2 });

test('the first heading becomes the title, the first sentence the description', () => {
  const page = convert('# `@agentlightning/core`\n\nDomain types. More text.\n\n## Next\n');
  expect(page).toMatchObject({ title: '@agentlightning/core', description: 'Domain types.', slug: 'packages/core' });
  expect(pageText(page)).toBe(
    '---\ntitle: "@agentlightning/core"\ndescription: "Domain types."\nsidebar: { order: 2 }\n---\n\nDomain types. More text.\n\n## Next\n',
  );
});

test('a description in the front matter takes precedence', () => {
  const page = convert('---\nname: x\ndescription: What it is.\n---\n\n# Title\n\nText.\n');
  expect(page).toMatchObject({ title: 'Title', description: 'What it is.', body: 'Text.' });
});

test.each([
  ['[errors](../../docs/errors.md)', '[errors](/reference/errors/)'],
  ['[one](../../docs/errors.md#not-found)', '[one](/reference/errors/#not-found)'],
  ['[trace](../trace)', '[trace](/packages/trace/)'],
  ['[trace](../trace/)', '[trace](/packages/trace/)'],
  ['[a label\non two lines](../trace)', '[a label\non two lines](/packages/trace/)'],
  ['[source](src/index.ts)', 'source'],
  ['[data](../../docs/reports/smollm2-capitals/steps.jsonl)', 'data'],
  ['[here](#next)', '[here](#next)'],
  ['[out](https://example.com/a.md)', '[out](https://example.com/a.md)'],
  ['![run](../../docs/images/dashboard-run.png)', '![run](../../../../../../docs/images/dashboard-run.png)'],
])('the link %s becomes %s', (link, expected) => {
  expect(convert(`# T\n\nA ${link} b.`).body).toBe(`A ${expected} b.`);
});

test('links in code stay, and the marks of checked snippets are removed', () => {
  const text = '# T\n\n```ts run\n// [a](b.md)\n```';
  expect(convert(text).body).toBe('```ts\n// [a](b.md)\n```');
});

test.each([
  ['README.md', ''],
  ['apps/docs/content/guides/tools.md', 'guides/tools'],
  ['docs/recipes/README.md', 'recipes'],
  ['docs/recipes/nextjs.md', 'recipes/nextjs'],
  ['docs/decisions/README.md', 'decisions'],
  ['docs/decisions/0049-dashboard.md', 'decisions/0049-dashboard'],
  ['docs/reports/performance/scale.md', 'reports/scale'],
  ['apps/trainer/skills/write-reward/SKILL.md', 'skills/write-reward'],
  ['docs/api/core.api.md', null],
  ['packages/core/CHANGELOG.md', null],
])('the page of %s is %s', (path, slug) => {
  expect(documentSlug(path)).toBe(slug);
});

test('text and headings of API pages do not count for the rank of search results', () => {
  expect(withoutSearchWeight('<header></header><main data-pagefind-body><h3 id="a">Trainer</h3></main>')).toBe(
    '<header></header><main data-pagefind-weight="0" data-pagefind-body><h3 data-pagefind-weight="0" id="a">Trainer</h3></main>',
  );
});
