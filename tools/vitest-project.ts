import { defineConfig } from 'vitest/config';

/**
 * Conditions under which tests resolve packages: as Node does, except that those of the workspace need no build.
 * `import` is not among them: they hold for `require` too, and CommonJS packages would be given modules.
 */
const sourceConditions = ['@agentlightning/source', 'node', 'default'];

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
      include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
      testTimeout: 30_000,
      hookTimeout: 30_000,
      globalSetup: [...(options.globalSetup ?? [])],
    },
  });
}
