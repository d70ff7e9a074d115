import { defineConfig } from 'vitest/config';

/** The tests that are run against each mutant: those of the packages that `stryker.config.json` mutates. */
const config: ReturnType<typeof defineConfig> = defineConfig({
  test: { projects: ['packages/algorithms', 'packages/core', 'packages/store/vitest.mutation.config.ts'] },
});

export default config;
