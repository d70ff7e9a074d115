import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { Application, type ProjectReflection } from 'typedoc';
import { listPackageFolders, repositoryRoot } from '../../../../tools/repository-files.ts';

/** An entry point of a package that users import. */
interface EntryPoint {
  /** The import specifier. */
  readonly name: string;
  readonly source: string;
}

/** The sources of the public API, as TypeDoc reads them. */
export interface ApiProject {
  readonly app: Application;
  readonly project: ProjectReflection;
}

/** Entry points for tests and programs, and those that are internal. */
const undocumented = /^\.\/(testing|contracts|internal|metrics|protocol|register|main|package\.json)$/;

/** Reads the public API of all packages with its documentation comments. */
export async function readApi(): Promise<ApiProject> {
  const entries = entryPoints();
  const app = await Application.bootstrapWithPlugins({
    entryPoints: entries.map(({ source }) => source),
    plugin: [import.meta.resolve('typedoc-plugin-markdown')],
    tsconfig: join(import.meta.dirname, 'tsconfig.typedoc.json'),
    basePath: repositoryRoot,
    skipErrorChecking: true,
    excludeExternals: true,
    excludeInternal: true,
    disableSources: true,
    readme: 'none',
    logLevel: 'Error',
    ...markdownOptions,
  });
  const project = await app.convert();
  if (project === undefined) {
    throw new AgentLightningError({
      code: 'INTERNAL',
      message: 'TypeDoc found no API',
      remedy: 'Check the exports of the package.json files.',
    });
  }
  const names = new Map(entries.map(({ name, source }) => [moduleName(source), name]));
  for (const module of project.children ?? []) module.name = names.get(module.name) ?? module.name;
  return { app, project };
}

/** Options of typedoc-plugin-markdown: a page for each entry point. */
const markdownOptions: object = {
  router: 'module',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  propertiesFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
};

function entryPoints(): readonly EntryPoint[] {
  return listPackageFolders().flatMap((folder) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(repositoryRoot, folder, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly exports?: Readonly<Record<string, { readonly '@agentlightning/source'?: string }>>;
    };
    return Object.entries(exports).flatMap(([entry, { '@agentlightning/source': source }]) =>
      source === undefined || undocumented.test(entry)
        ? []
        : [{ name: `${name}${entry.slice(1)}`, source: join(repositoryRoot, folder, source) }],
    );
  });
}

/** The name that TypeDoc gives to the module of a file. */
function moduleName(source: string): string {
  return source
    .slice(repositoryRoot.length + 1)
    .replace(/\.ts$/, '')
    .replace(/\/index$/, '');
}
