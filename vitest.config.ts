import { defineConfig } from 'vitest/config';

/** One project per package: `pnpm vitest run --project store` runs the tests of one. */
const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    tags: [{ name: 'long', description: 'Runs with `verify --all` only.' }],
    projects: ['packages/*', 'apps/*', 'examples/*/vitest.config.ts'],
  },
});

export default config;
