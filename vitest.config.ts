import { defineConfig } from 'vitest/config';

/** One project per package: `pnpm vitest run --project store` runs the tests of one. */
const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    projects: ['packages/*', 'apps/*', 'examples/*/vitest.config.ts'],
  },
});

export default config;
