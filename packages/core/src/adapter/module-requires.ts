import type { createRequire } from 'node:module';

/** Loads modules relative to a file. */
export type ModuleRequire = ReturnType<typeof createRequire>;

/**
 * Base paths for resolving the copies of a framework: the requesting module and the working directory.
 *
 * @param moduleUrl - the `import.meta.url` of the module; undefined where a bundler has replaced it
 * @returns those that exist; empty without a file system
 */
export function moduleRequires(moduleUrl: string | undefined): readonly ModuleRequire[] {
  const program = globalThis.process?.cwd?.();
  const requires = [requireFrom(moduleUrl), requireFrom(program === undefined ? program : `${program}/main.js`)];
  return requires.filter((found) => found !== null);
}

/** Loads modules relative to a path or URL; null where it does not exist, as in a bundle. */
export function requireFrom(place: string | undefined): ModuleRequire | null {
  try {
    const modules = globalThis.process?.getBuiltinModule?.('node:module');
    return place === undefined ? null : (modules?.createRequire(place) ?? null);
  } catch {
    return null;
  }
}

/** Path of a module; null when it is not installed. */
export function resolveModule(from: ModuleRequire, name: string): string | null {
  try {
    return from.resolve(name);
  } catch {
    return null;
  }
}

/** Exports of a module as a list of one; empty when it cannot be loaded. */
export function loadModule(from: ModuleRequire, path: string): readonly unknown[] {
  try {
    return [from(path)];
  } catch {
    return [];
  }
}
