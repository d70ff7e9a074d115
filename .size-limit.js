/**
 * How big what an agent installs may be: bundled with its dependencies, minified and gzipped, in bytes.
 *
 * Only the framework that an adapter is for, and Node's own modules, stay outside. An adapter by itself does not count
 * core, which is the same for all; with core it counts whatever of core it uses, so that nothing can hide there.
 * An adapter runs in a user's agent with every call, and the adapters had grown the same parts: code that two of them share is
 * in `@agentlightning/core/adapter`. Core's main entry has no dependency; the store client, which needs zod, is an entry.
 *
 * Checked by `pnpm verify sizes`, shown by `pnpm sizes`, on the built packages.
 */
const kilobyte = 1000;

const core = '@agentlightning/core';

function entry(name, { path, limit, ignore = [], external = [] }) {
  return {
    name,
    path,
    limit: `${limit} B`,
    ignore,
    gzip: true,
    modifyEsbuildConfig: (config) => ({
      ...config,
      platform: 'node',
      format: 'esm',
      external: [...(config.external ?? []), ...external],
    }),
  };
}

function adapter(folder, framework) {
  const path = `packages/${folder}/dist/index.js`;
  const name = `@agentlightning/${folder}`;
  return [
    entry(name, { path, limit: 7 * kilobyte, ignore: [core, ...framework] }),
    entry(`${name} with core`, { path, limit: 20 * kilobyte, ignore: framework }),
  ];
}

/** @type {import('size-limit').SizeLimitConfig} */
export default [
  entry(core, { path: 'packages/core/dist/index.js', limit: 15 * kilobyte }),
  entry('@agentlightning/client', { path: 'packages/client/dist/index.js', limit: 70 * kilobyte }),
  ...adapter('fetch', ['openai']),
  ...adapter('langchain', ['@langchain/core', '@langchain/openai']),
  ...adapter('openai-agents', ['@openai/agents']),
  ...adapter('ai-sdk', ['ai']),
  ...adapter('mastra', ['@mastra/core']),
  ...adapter('claude-agent-sdk', ['@anthropic-ai/claude-agent-sdk']),
  // Other pages are loaded when they are opened.
  entry('@agentlightning/dashboard, first page', {
    path: 'apps/dashboard/dist/web/assets/index-*.js',
    limit: 115 * kilobyte,
    external: ['./*'],
  }),
  entry('@agentlightning/dashboard, all pages', {
    path: 'apps/dashboard/dist/web/assets/index-*.js',
    limit: 255 * kilobyte,
  }),
  entry('@agentlightning/rewards', {
    path: 'packages/rewards/dist/index.js',
    limit: 25 * kilobyte,
    ignore: ['ai', 'ajv', 'mathjs', 'promptfoo'],
  }),
  entry('@agentlightning/environments', {
    path: 'packages/environments/dist/index.js',
    limit: 12 * kilobyte,
    ignore: [core, '@modelcontextprotocol/client', 'zod'],
  }),
  entry('@agentlightning/trace', { path: 'packages/trace/dist/index.js', limit: 10 * kilobyte, ignore: [core] }),
];
