import { defineConfig } from 'tsup';

/**
 * Build settings of every package of this workspace: ES modules with source maps; `tsc` writes the declarations.
 *
 * ESM only is a decision (docs/decisions/0002-es-modules-only.md): Node 22.12 and later can `require()` ES modules, and one copy
 * of a package is what keeps the rollout context single.
 */
export function libraryConfig(
  entry: string[] | Record<string, string> = ['src/index.ts'],
): ReturnType<typeof defineConfig> {
  return defineConfig({
    entry,
    format: ['esm'],
    target: 'node22',
    dts: false,
    clean: true,
    sourcemap: true,
    splitting: true,
    treeshake: false,
    // `node:sqlite` exists only under that name.
    removeNodeProtocol: false,
  });
}
