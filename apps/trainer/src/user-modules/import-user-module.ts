import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { register } from 'tsx/esm/api';
import { userModuleHooks } from './user-module-hooks.ts';

/** The default export of a module, also of CommonJS that was compiled from ES modules; of a promise, its value. */
export async function defaultExport({ default: exported }: Readonly<Record<string, unknown>>): Promise<unknown> {
  const isCompiled = typeof exported === 'object' && exported !== null && '__esModule' in exported;
  return await (isCompiled && 'default' in exported ? exported.default : exported);
}

let isRegistered = false;

/**
 * Imports a configuration or an agent: TypeScript or JavaScript, with JSX, enums, decorators and imports without extensions, and
 * with the `paths` of the nearest tsconfig.json. User code is always loaded as ES modules, also in packages without `"type": "module"`:
 * a framework that has an ES and a CommonJS build is loaded once, so adapters instrument the instance that the agent uses.
 *
 * The first call decides which tsconfig.json applies to the process.
 */
export async function importUserModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  const full = path.resolve(file);
  if (!isRegistered) {
    isRegistered = true;
    register({ tsconfig: nearestTsconfig(path.dirname(full)) ?? false });
    registerHooks(userModuleHooks);
  }
  return (await import(pathToFileURL(full).href)) as Readonly<Record<string, unknown>>;
}

function nearestTsconfig(folder: string): string | null {
  const file = path.join(folder, 'tsconfig.json');
  if (existsSync(file)) return file;
  const parent = path.dirname(folder);
  return parent === folder ? null : nearestTsconfig(parent);
}
