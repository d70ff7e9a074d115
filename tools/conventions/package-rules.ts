import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles, listPackageFolders, readText, repositoryRoot } from '../repository-files.ts';
import type { Convention } from './convention.ts';

interface Manifest {
  readonly name?: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly license?: string;
  readonly type?: string;
  readonly sideEffects?: boolean | readonly string[];
  readonly files?: readonly string[];
  readonly engines?: { readonly node?: string };
  readonly publishConfig?: { readonly access?: string };
  readonly exports?: Readonly<Record<string, unknown>>;
}

/**
 * The allowed entry points of a package. `.` is for agents. Authors of algorithms, stores and runtimes use `./algorithm`, `./store`,
 * `./spans` and `./training-runtime`, those of adapters `./adapter`; `./store-client` is for programs that use a store over HTTP, `./operations` for telemetry of processes, `./feedback` for browsers.
 * `./internal` and what is below it, `./settings` and `./protocol` (both with zod) and, also for browsers, `./metrics` are for the packages of this repository only: they have no report in `docs/api` and may change in every version. `./contracts` needs Vitest, `./testing` does not; `./main` is a program.
 */
const publicEntries = new Set([
  '.',
  './spans',
  './store',
  './algorithm',
  './training-runtime',
  './internal',
  './metrics',
  './testing',
  './contracts',
  './protocol',
  './adapter',
  './store-client',
  './internal/workers',
  './operations',
  './internal/losses',
  './internal/serving',
  './feedback',
  './settings',
  './register',
  './main',
  './package.json',
]);

const exists = (path: string): boolean => existsSync(join(repositoryRoot, path));

const readmesRun: Convention = {
  name: 'every package has a README with a snippet that is run',
  findProblems: () =>
    listPackageFolders().flatMap((folder) => {
      const path = `${folder}/README.md`;
      if (!exists(path)) return [`${path} is missing`];
      return /^```ts run/m.test(readText(path)) ? [] : [`${path} has no code block that starts with \`\`\`ts run`];
    }),
};

const manifestsAreAlike: Convention = {
  name: 'every package.json says what it is, and publishes modules only',
  findProblems: () => listPackageFolders().flatMap((folder) => manifestProblems(folder)),
};

function manifestProblems(folder: string): readonly string[] {
  const path = `${folder}/package.json`;
  const manifest = JSON.parse(readText(path)) as Manifest;
  const folderName = folder.split('/')[1] ?? '';
  // `npm create <name>` runs the package `create-<name>`, and `npx <name>` the package of that name.
  const expectedName = /^(create-.+|agentlightning)$/.test(folderName) ? folderName : `@agentlightning/${folderName}`;
  const expectations: readonly (readonly [holds: boolean, problem: string])[] = [
    [manifest.name === expectedName, `name must be ${expectedName}`],
    [(manifest.description ?? '').length > 20, 'description is missing'],
    [manifest.license === 'MIT', 'license must be MIT'],
    [manifest.type === 'module', 'type must be module'],
    [
      /^>=22\.\d+( <23 \|\| >=24)?$/.test(manifest.engines?.node ?? ''),
      'engines.node must be >=22.12, or a later 22, with " <23 || >=24" where Node 23 does not work',
    ],
    ...(manifest.private === true ? [] : publishExpectations(manifest)),
  ];
  return expectations.filter(([holds]) => !holds).map(([, problem]) => `${path}: ${problem}`);
}

/** Only `/register` is made for doing something when it is imported. */
function hasQuietImports({ sideEffects }: Manifest): boolean {
  if (!Array.isArray(sideEffects)) return sideEffects === false;
  return sideEffects.every((path: string) => /(^|\/)register\.(js|ts)$/.test(path));
}

function publishExpectations(manifest: Manifest): readonly (readonly [boolean, string])[] {
  return [
    [hasQuietImports(manifest), 'sideEffects must be false, or name register files only: importing must do nothing'],
    [manifest.files?.includes('dist') === true, 'files must list dist'],
    [manifest.publishConfig?.access === 'public', 'publishConfig.access must be public'],
    [
      Object.keys(manifest.exports ?? {}).every((key) => publicEntries.has(key)),
      `exports may be ${[...publicEntries].join(', ')} only`,
    ],
  ];
}

const indexesOnlyList: Convention = {
  name: 'an index.ts lists names and holds no code',
  findProblems: () =>
    listPackageFolders()
      .flatMap((folder) =>
        [
          '',
          'testing/',
          'contracts/',
          'protocol/',
          'adapter/',
          'store-client/',
          'settings/',
          'workers/',
          'operations/',
        ].map((entry) => `${folder}/src/${entry}index.ts`),
      )
      .concat(listFiles((path) => path.startsWith('packages/core/src/entry-points/')))
      .filter(exists)
      .flatMap((path) => {
        const code = readText(path)
          .replace(/\/\*[\s\S]*?\*\//g, '')
          .replace(/^\s*\/\/.*$/gm, '')
          .replace(/^export (type )?\{[^}]*\} from '[^']+';$/gm, '')
          .trim();
        return code === '' ? [] : [`${path}: more than a list of names: ${code.split('\n')[0]}`];
      }),
};

const changesetsNamePublished: Convention = {
  name: 'changesets name published packages only; a release ends at any other',
  findProblems: () => {
    const manifests = listPackageFolders().map((folder) => JSON.parse(readText(`${folder}/package.json`)) as Manifest);
    const published = new Set(manifests.flatMap((manifest) => (manifest.private === true ? [] : [manifest.name])));
    return listFiles((path) => /^\.changeset\/(?!README).+\.md$/.test(path)).flatMap((path) => {
      const [, frontMatter = ''] = readText(path).split(/^---$/m);
      const names = [...frontMatter.matchAll(/^['"]?(@?[\w/-]+)['"]?: *\w+$/gm)].map(([, name]) => name);
      return names.filter((name) => !published.has(name)).map((name) => `${path}: ${name}`);
    });
  },
};

/** Rules about each package as a whole. */
export const packageRules: readonly Convention[] = [
  readmesRun,
  manifestsAreAlike,
  indexesOnlyList,
  changesetsNamePublished,
];
