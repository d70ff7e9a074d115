import { defineConfig } from 'vitest/config';

/** Conditions under which tests resolve workspace packages: their sources, so that no build is needed. */
const sourceConditions = ['@agentlightning/source', 'import', 'module', 'node', 'default'];

/** The vitest configuration shared by every package of this workspace. */
export function projectConfig(name: string): ReturnType<typeof defineConfig> {
  return defineConfig({
    resolve: { conditions: sourceConditions },
    ssr: { resolve: { conditions: sourceConditions } },
    test: {
      name,
      include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
      testTimeout: 30_000,
      hookTimeout: 30_000,
    },
  });
}
