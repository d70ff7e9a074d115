import path from 'node:path';
import { getTsconfig } from 'get-tsconfig';

/** How the TypeScript files of a project import each other, so that its type check accepts a further file. */
export interface ProjectModules {
  /** The extension in imports of TypeScript files: of the source, of the emitted file, or none. */
  readonly extension: 'source' | 'emitted' | 'none';
  /** Whether modules may use `await` at the top level. */
  readonly hasTopLevelAwait: boolean;
}

/**
 * Reads the tsconfig.json of a project, with those that it extends. Without one nothing is checked, and Node's own form of
 * imports is used.
 */
export function projectModules(folder: string, isEsModule: boolean): ProjectModules {
  const options = getTsconfig(path.join(folder, 'tsconfig.json'))?.config.compilerOptions;
  if (options === undefined) return { extension: 'source', hasTopLevelAwait: true };
  const module = options.module?.toLowerCase() ?? 'commonjs';
  const isNode = /^node(?:16|18|20|next)$/.test(module);
  const isEmittedAsModule = isNode ? isEsModule : /^(?:es|preserve)/.test(module);
  // The default of `target` depends on the version of TypeScript, except with the modules of Node.
  const target = options.target?.toLowerCase() ?? (isNode ? 'esnext' : 'es5');
  const hasSourceImports =
    options.allowImportingTsExtensions === true || options.rewriteRelativeImportExtensions === true;
  return {
    extension: hasSourceImports ? 'source' : isNode ? 'emitted' : 'none',
    hasTopLevelAwait: isEmittedAsModule && /^es(?:2017|2018|2019|20[2-9]\d|next)$/.test(target),
  };
}

/** The specifier of a file of the project, for an import in the project's folder. */
export function importSpecifier(file: string, { extension }: ProjectModules): string {
  const [, stem = file, prefix = '', kind = ''] = /^(.*)\.([cm]?)([jt]sx?)$/.exec(file) ?? [];
  if (extension === 'source' || prefix !== '') return `./${extension === 'source' ? file : `${stem}.${prefix}js`}`;
  if (extension === 'none') return `./${stem}`;
  return `./${stem}.${kind.startsWith('j') ? kind : 'js'}`;
}
