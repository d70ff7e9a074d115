import { defineConfig } from 'vitest/config';

/** Conditions under which tests resolve packages: as Node does, except that those of the workspace need no build. */
const sourceConditions = ['@agentlightning/source', 'import', 'node', 'default'];

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
