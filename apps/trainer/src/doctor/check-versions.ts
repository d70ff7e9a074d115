import { packageVersion } from '../events/package-version.ts';
import { type Dependencies, findFrameworks, installedPackageVersion } from '../project-setup/installed-packages.ts';
import { type Finding, fine } from './finding.ts';
import { unsupportedNode } from './node-version.ts';

/** Checks Node, the packages of Agent Lightning, and that an adapter supports each framework of the project. */
export function checkVersions(folder: string, dependencies: Dependencies): readonly Finding[] {
  const problem = unsupportedNode(process.versions.node);
  const node: Finding =
    problem === null
      ? fine('node', `Node.js ${process.versions.node}`)
      : { name: 'node', status: 'error', detail: `Node.js ${process.versions.node}`, remedy: problem };
  return [node, ...checkPackages(folder, dependencies), ...checkFrameworks(folder, dependencies)];
}

function checkPackages(folder: string, dependencies: Dependencies): readonly Finding[] {
  const names = Object.keys(dependencies).filter((name) => name.startsWith('@agentlightning/'));
  const agl = fine('agl', packageVersion());
  return [
    agl,
    ...names.map((name): Finding => {
      const version = installedPackageVersion(name, folder);
      if (version !== null) return fine(name, version);
      return { name, status: 'error', detail: 'not installed', remedy: 'Install the dependencies of the project.' };
    }),
  ];
}

function checkFrameworks(folder: string, dependencies: Dependencies): readonly Finding[] {
  const found = findFrameworks(folder, dependencies);
  if (found.length === 0) {
    const detail = 'no supported framework in package.json';
    const remedy = 'Send the model calls of the agent through traceFetch() of @agentlightning/fetch.';
    return [{ name: 'framework', status: 'warning', detail, remedy }];
  }
  // The OpenAI client may serve only as a dependency of a framework.
  const hasFramework = found.length > 1;
  return found
    .filter(({ framework }) => !(hasFramework && framework === 'openai'))
    .map(({ adapter, framework, range, version, isSupported }): Finding => {
      const name = `framework ${framework}`;
      if (version === null || isSupported === null) {
        return { name, status: 'error', detail: 'not installed', remedy: 'Install the dependencies of the project.' };
      }
      if (!isSupported) {
        const remedy = `Install a version in ${range}.`;
        return { name, status: 'error', detail: `${version}, which ${adapter} does not support`, remedy };
      }
      if (adapter in dependencies) return fine(name, `${version}, with ${adapter}`);
      return {
        name,
        status: 'error',
        detail: `${version} without an adapter`,
        remedy: `Run agl init, or install ${adapter}.`,
      };
    });
}
