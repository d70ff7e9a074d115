/** Documents of the repository that are pages, by pattern of their path, with the slug of the page. The first match counts. */
const slugRules: readonly (readonly [pattern: RegExp, slug: string])[] = [
  [/^apps\/docs\/content\/index\.md$/, ''],
  [/^apps\/docs\/content\/(.+)\.md$/, '$1'],
  [/^README\.md$/, ''],
  [/^ARCHITECTURE\.md$/, 'contribute/architecture'],
  [/^CONTRIBUTING\.md$/, 'contribute/contributing'],
  [/^docs\/(errors|glossary|metrics)\.md$/, 'reference/$1'],
  [/^docs\/(operations|platforms)\.md$/, 'operations/$1'],
  [/^docs\/recipes\/README\.md$/, 'recipes'],
  [/^docs\/recipes\/(.+)\.md$/, 'recipes/$1'],
  [/^docs\/decisions\/README\.md$/, 'decisions'],
  [/^docs\/decisions\/(.+)\.md$/, 'decisions/$1'],
  [/^docs\/reports\/(?:.+\/)?([^/]+)\/README\.md$/, 'reports/$1'],
  [/^docs\/reports\/(?:.+\/)?([^/]+)\.md$/, 'reports/$1'],
  [/^benchmarks\/README\.md$/, 'reports/benchmarks'],
  [/^packages\/runtime\/LOSSES\.md$/, 'reference/losses'],
  [/^(?:packages|apps)\/([^/]+)\/README\.md$/, 'packages/$1'],
  [/^examples\/README\.md$/, 'examples'],
  [/^examples\/([^/]+)\/README\.md$/, 'examples/$1'],
  [/^(?:packages|apps)\/[^/]+\/skills\/([^/]+)\/SKILL\.md$/, 'skills/$1'],
];

/** The slug of the page of a document; null for a file that is not a page. */
export function documentSlug(path: string): string | null {
  const rule = slugRules.find(([pattern]) => pattern.test(path));
  return rule === undefined ? null : path.replace(rule[0], rule[1]);
}
