import type { createRequire } from 'node:module';

/** Loads modules as a file of the program would. */
export type ModuleRequire = ReturnType<typeof createRequire>;

/**
 * The places that the copies of a framework are resolved from: the module that asks, and the working directory.
 *
 * @param moduleUrl - the `import.meta.url` of the module; undefined where a bundler has replaced it
 * @returns those that exist: none without a file system
 */
export function moduleRequires(moduleUrl: string | undefined): readonly ModuleRequire[] {
  const program = globalThis.process?.cwd?.();
  const requires = [requireFrom(moduleUrl), requireFrom(program === undefined ? program : `${program}/main.js`)];
  return requires.filter((found) => found !== null);
}

/** Loads modules as the file at a path or URL would; null where there is no such place, as in a bundle. */
export function requireFrom(place: string | undefined): ModuleRequire | null {
  try {
    const modules = globalThis.process?.getBuiltinModule?.('node:module');
    return place === undefined ? null : (modules?.createRequire(place) ?? null);
  } catch {
    return null;
  }
}

/** The path of a module; null where it is not installed. */
export function resolveModule(from: ModuleRequire, name: string): string | null {
  try {
    return from.resolve(name);
  } catch {
    return null;
  }
}

/** The exports of a module as a list of one; empty where it cannot be loaded. */
export function loadModule(from: ModuleRequire, path: string): readonly unknown[] {
  try {
    return [from(path)];
  } catch {
    return [];
  }
}
