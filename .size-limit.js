/**
 * How big what an agent installs may be: bundled, minified and gzipped, without the framework and `node:`.
 *
 * Checked by `pnpm verify sizes`, on the built packages. An adapter does not count core: it is the same for all.
 */
const kilobyte = 1000;

/** Modules of Node's own stay outside, as they are there already. */
const modifyEsbuildConfig = (config) => ({ ...config, platform: 'node', format: 'esm' });

function adapter(name, framework) {
  return {
    name: `@agentlightning/${name}`,
    path: `packages/${name}/dist/index.js`,
    limit: `${6 * kilobyte} B`,
    ignore: ['@agentlightning/core', ...framework],
    gzip: true,
    modifyEsbuildConfig,
  };
}

/** @type {import('size-limit').SizeLimitConfig} */
export default [
  {
    name: '@agentlightning/core',
    path: 'packages/core/dist/index.js',
    limit: `${15 * kilobyte} B`,
    gzip: true,
    modifyEsbuildConfig,
  },
  adapter('fetch', []),
];
