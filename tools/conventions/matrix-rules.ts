import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundlers } from '../matrix/bundlers.ts';
import { registeredScenes } from '../matrix/contract-program.ts';
import { frameworks } from '../matrix/frameworks.ts';
import { platformDocuments } from '../matrix/generate-platform-docs.ts';
import { listFiles, readText, repositoryRoot } from '../repository-files.ts';
import type { Convention } from './convention.ts';

const adapters: readonly string[] = [...new Set(frameworks.map(({ adapter }) => adapter))];

const platformsAreListed: Convention = {
  name: 'documents list the versions and platforms of the matrix',
  findProblems: () =>
    [...platformDocuments()]
      .filter(([path, text]) => !existsSync(join(repositoryRoot, path)) || readText(path) !== text)
      .map(([path]) => `${path} is out of date: run \`pnpm platform-docs\``),
};

const lowestPeersAreIncluded: Convention = {
  name: 'the matrix includes the lowest version of every framework that an adapter allows',
  findProblems: () => adapters.flatMap((adapter) => missingPeers(adapter)),
};

function missingPeers(adapter: string): readonly string[] {
  const path = `packages/${adapter}/package.json`;
  const { peerDependencies = {} } = JSON.parse(readText(path)) as {
    readonly peerDependencies?: Readonly<Record<string, string>>;
  };
  const own = frameworks.filter((framework) => framework.adapter === adapter);
  return Object.entries(peerDependencies).flatMap(([name, range]) => {
    const included = own.map(({ packages }) => packages[name]);
    return lowestVersions(range)
      .filter((version) => !included.includes(version))
      .map((version) => `${path}: ${name} ${version} is allowed, and not in tools/matrix/frameworks.ts`);
  });
}

/** The first version of each part of a range: `^6.0.1 || >=7 <9` gives 6.0.1 and 7.0.0. */
function lowestVersions(range: string): readonly string[] {
  return range.split('||').map((part) => {
    const [major = '', minor = '0', patch = '0'] = /[\d.]+/.exec(part)?.[0].split('.') ?? [];
    return [major, minor, patch].join('.');
  });
}

const contractFolder = 'packages/core/src/testing/adapter-contract/';

const namedScenesExist: Convention = {
  name: 'scenes named by the matrix exist in the adapter contract',
  findProblems: () => {
    const contract = listFiles((path) => path.startsWith(contractFolder))
      .map(readText)
      .join('\n');
    const skipped = [...frameworks, ...bundlers].flatMap(({ skippedScenes = [] }) =>
      skippedScenes.map(({ scene }) => scene),
    );
    return [...registeredScenes.split('|'), ...skipped]
      .filter((scene) => !contract.includes(scene))
      .map((scene) => `tools/matrix: no scene of ${contractFolder} has a name with "${scene}"`);
  },
};

const currentIsInstalled: Convention = {
  name: 'current versions of the matrix are those of the workspace',
  findProblems: () =>
    frameworks
      .filter(({ age }) => age === 'current')
      .flatMap(({ adapter, packages }) =>
        Object.entries(packages).flatMap(([name, version]) => {
          const installed = installedVersion(adapter, name);
          if (installed === version) return [];
          return [
            `tools/matrix/frameworks.ts: ${name} ${version}, and packages/${adapter} is tested with ${installed}`,
          ];
        }),
      ),
};

const claudeCodeAgrees: Convention = {
  name: 'the program of the Claude Agent SDK in tools/extras has the version of the SDK',
  findProblems: () => {
    const path = 'tools/extras/claude-code/package.json';
    const { optionalDependencies } = JSON.parse(readText(path)) as {
      readonly optionalDependencies: Readonly<Record<string, string>>;
    };
    const installed = installedVersion('claude-agent-sdk', '@anthropic-ai/claude-agent-sdk');
    return Object.entries(optionalDependencies)
      .filter(([, version]) => version !== installed)
      .map(([name, version]) => `${path}: ${name} ${version}, and the SDK has ${installed}`);
  },
};

function installedVersion(adapter: string, name: string): string {
  const path = `packages/${adapter}/node_modules/${name}/package.json`;
  if (!existsSync(join(repositoryRoot, path))) return 'none';
  return (JSON.parse(readText(path)) as { readonly version: string }).version;
}

/** Rules about the matrix. */
export const matrixRules: readonly Convention[] = [
  platformsAreListed,
  lowestPeersAreIncluded,
  currentIsInstalled,
  claudeCodeAgrees,
  namedScenesExist,
];
