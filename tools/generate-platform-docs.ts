/**
 * Writes `docs/platforms.md`, and the tables of versions in the READMEs of the adapters, from what the matrix plays.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { frameworks } from './matrix/frameworks.ts';
import { platformTable, versionTable } from './matrix/support-table.ts';
import { readText, repositoryRoot } from './repository-files.ts';

const platformDocument = 'docs/platforms.md';

/** The documents that tell of versions and platforms, by their path, as they must be. */
export function platformDocuments(): ReadonlyMap<string, string> {
  const adapters = [...new Set(frameworks.map(({ adapter }) => adapter))];
  const readmes = adapters.map((adapter): [string, string] => {
    const path = `packages/${adapter}/README.md`;
    return [path, withTable(readText(path), versionTable(adapter))];
  });
  return new Map([[platformDocument, platformDocumentText()], ...readmes]);
}

const begin = '<!-- Made by `pnpm platform-docs` from tools/matrix/frameworks.ts. -->';
const end = '<!-- The end of what is made. -->';

/** A README whose table of versions is the one given. It stands between two comments. */
function withTable(readme: string, table: string): string {
  const [before, rest = ''] = readme.split(begin);
  const after = rest.slice(rest.indexOf(end) + end.length);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

function platformDocumentText(): string {
  const limits = frameworks
    .filter(({ age }) => age !== 'lowest')
    .flatMap(({ name, leftOut = [] }) => leftOut.map(({ reason }) => ({ name, reason })));
  return `# Versions and platforms

<!-- Made by \`pnpm platform-docs\` from tools/matrix. Do not edit. -->

Every adapter is played on what is listed here: \`pnpm test:matrix\` packs the packages as they are published, installs
them with npm into a project of its own beside a framework, and plays the whole adapter contract there, in the
framework's real code. It also looks at what the installation brings along: core, zod and one reader of event streams,
and nothing else; npm has nothing to warn of.

${platformTable()}

ESM: the user's code is made of ES modules. CJS: it is CommonJS, and gets the packages, which are ES modules, and the
framework by \`require\`. \`pnpm verify\` plays the current versions on Node 24, and \`pnpm test:matrix\` everything.

What a framework or a runtime cannot do, with us or without:

- Bun: what a broken connection had brought, but nobody had read yet, is lost to the agent, and so to its trace.
${limits.map(({ name, reason }) => `- ${name}: ${reason}.`).join('\n')}
`;
}

if (import.meta.main) {
  for (const [path, text] of platformDocuments()) writeFileSync(join(repositoryRoot, path), text);
  console.log(`Wrote ${[...platformDocuments().keys()].join(', ')}`);
}
