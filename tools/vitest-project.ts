import { defineConfig } from 'vitest/config';

/**
 * Conditions under which tests resolve packages: as Node does, except that those of the workspace need no build.
 * `import` is not among them: they hold for `require` too, and CommonJS packages would be given modules.
 */
const sourceConditions = ['@agentlightning/source', 'node', 'default'];

/**
 * Calls from WebAssembly are not compiled anew when there have been many. Node 24 frees what it compiled for them while
 * another thread may still count on it, and the process dies of `jit_page.has_value()` or a segmentation fault
 * (https://github.com/nodejs/node/issues/64500). Threads that are started from TypeScript read it by WebAssembly; those of
 * the built packages do not.
 */
const nodeFlags = ['--wasm-wrapper-tiering-budget=1000000000'];

/**
 * The vitest configuration shared by every package of this workspace. The global setup runs once before a package's
 * tests, in files that are named from its folder.
 */
export function projectConfig(
  name: string,
  options: { readonly globalSetup?: readonly string[] } = {},
): ReturnType<typeof defineConfig> {
  return defineConfig({
    resolve: { conditions: sourceConditions },
    ssr: { resolve: { conditions: sourceConditions } },
    test: {
      name,
      execArgv: nodeFlags,
      include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
      testTimeout: 30_000,
      hookTimeout: 30_000,
      globalSetup: [...(options.globalSetup ?? [])],
    },
  });
}
