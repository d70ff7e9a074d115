/**
 * The arrows of ARCHITECTURE.md, as rules that `pnpm verify` checks.
 *
 * A path under `packages/` or `apps/` always means the source: packages are resolved through their
 * `@agentlightning/source` export condition, so that nothing needs to be built first.
 */

/** Test files may import a sibling: an end-to-end test of the gateway needs a store. */
const tests = '(\\.test\\.ts$|/test/)';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one concept, or a third one is missing. Type-only cycles count too.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'core-is-a-leaf',
      comment: 'packages/core holds the words and contracts. It imports nothing of ours, not even in tests.',
      severity: 'error',
      from: { path: '^packages/core/' },
      to: {
        path: '^(packages/(?!core/)|apps/|examples/|tools/|benchmarks/)',
        pathNot: '^tools/vitest-project\\.ts$|^tools/tsup-library\\.ts$',
      },
    },
    {
      name: 'siblings-stay-apart',
      comment:
        'A package imports core and nothing else of ours. runtime-cpu and runtime-tinker may import runtime, and client runner.',
      severity: 'error',
      from: {
        path: '^packages/(?!core/)([^/]+)/src/',
        pathNot: [tests, '^packages/(runtime-cpu|runtime-tinker|client)/'],
      },
      to: { path: '^packages/(?!core/)[^/]+/', pathNot: '^packages/$1/' },
    },
    {
      name: 'runtime-cpu-implements-runtime',
      comment: 'packages/runtime-cpu may import core and runtime, and no other package.',
      severity: 'error',
      from: { path: '^packages/runtime-cpu/src/', pathNot: tests },
      to: { path: '^packages/(?!(core|runtime|runtime-cpu)/)' },
    },
    {
      name: 'runtime-tinker-implements-runtime',
      comment: 'packages/runtime-tinker may import core and runtime. Its fake server trains with runtime-cpu.',
      severity: 'error',
      from: { path: '^packages/runtime-tinker/src/', pathNot: [tests, '^packages/runtime-tinker/src/testing/'] },
      to: { path: '^packages/(?!(core|runtime|runtime-tinker)/)' },
    },
    {
      name: 'client-runs-agents',
      comment:
        'packages/client may import core and runner: it runs agents for a server. It installs without the server.',
      severity: 'error',
      from: { path: '^packages/client/src/', pathNot: tests },
      to: { path: '^packages/(?!(core|runner|client)/)' },
    },
    {
      name: 'create-imports-nothing',
      comment: 'packages/create-agentlightning writes files and runs a package manager. It imports nothing of ours.',
      severity: 'error',
      from: { path: '^packages/create-agentlightning/src/' },
      to: { path: '^(packages/(?!create-agentlightning/)|apps/)' },
    },
    {
      name: 'only-apps-and-examples-wire',
      comment: 'Apps put the packages together, so no package may know an app or an example.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(apps|examples|benchmarks)/' },
    },
    {
      name: 'apps-stay-apart',
      comment:
        'An app imports packages, and no other app; the documentation site reads all of them. The trainer serves the dashboard, implements its replays, and lists rollouts with its filters: `agl dashboard`, `agl server`, `agl mcp`, `agl rollouts`.',
      severity: 'error',
      from: {
        path: '^apps/([^/]+)/src/',
        pathNot: [
          tests,
          '^apps/docs/',
          '^apps/trainer/src/(cli/serve/run-dashboard|replay/open-replayer|cli/mcp/(mcp-server|rollout-tools)|cli/inspect/list-rollouts|server/(server-projects|dashboard-sessions))\\.ts$',
        ],
      },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'dashboard-imports-core-trace-and-algorithms',
      comment:
        'The dashboard reads any store through its contract, compares runs by the statistics of the algorithms, and imports no other package.',
      severity: 'error',
      from: { path: '^apps/dashboard/(src|web)/' },
      to: { path: '^(packages/(?!(core|trace|algorithms)/)|apps/(?!dashboard/))' },
    },
    {
      name: 'dashboard-page-imports-types-of-the-api',
      comment: 'The web page shares the response types of the API with the server, and none of its code.',
      severity: 'error',
      from: { path: '^apps/dashboard/web/' },
      to: { path: '^apps/dashboard/src/', pathNot: '^apps/dashboard/src/api/' },
    },
    {
      name: 'no-deep-imports',
      comment:
        'What a package exports is public, everything else is private: import `@agentlightning/<name>`. The documentation site describes commands and settings from their sources.',
      severity: 'error',
      from: { path: '^((packages|apps|examples)/[^/]+|benchmarks)/', pathNot: '^apps/docs/' },
      to: {
        path: '^(packages|apps)/[^/]+/(src|test|proto)/',
        pathNot: [
          '^$1/',
          '^(packages|apps)/[^/]+/src/((testing|contracts|protocol|adapter|store-client|settings|register|workers|operations|losses|serving|feedback)/)?index\\.ts$',
          '^(packages|apps)/[^/]+/src/internal\\.ts$',
          '^packages/core/src/entry-points/[\\w-]+\\.ts$',
        ],
      },
    },
    {
      name: 'examples-use-public-names',
      comment: 'Examples show what users can import. The scripted endpoint takes the place of a vendor.',
      severity: 'error',
      from: { path: '^examples/', pathNot: '^examples/scripted-endpoint/' },
      to: { path: '^(packages|apps)/[^/]+/src/(internal|entry-points/internal)\\.ts$' },
    },
    {
      name: 'no-relative-path-into-a-package',
      comment: 'Another package is imported by its name, even its index.',
      severity: 'error',
      from: { path: '^((packages|apps|examples)/[^/]+|benchmarks)/', pathNot: '^apps/docs/' },
      to: {
        path: '^(packages|apps)/',
        pathNot: '^$1/',
        dependencyTypes: ['local'],
        dependencyTypesNot: ['npm', 'npm-dev', 'npm-peer', 'npm-optional', 'aliased-workspace', 'npm-no-pkg'],
      },
    },
    {
      name: 'sources-do-not-import-tests',
      comment:
        'What ships never imports a test file; contract suites live under src/testing, and src/contracts lists them.',
      severity: 'error',
      // `agl dev --script` serves the scripted model of core.
      from: {
        path: '/src/',
        pathNot: [tests, '/src/testing/', '/src/contracts/', '/evaluation-run/scripted-endpoint\\.ts$'],
      },
      to: { path: [tests, '^(packages|apps)/[^/]+/src/testing/'] },
    },
    {
      name: 'not-to-dev-dependencies',
      comment:
        'What ships imports only its dependencies and peer dependencies: a user does not have ours for development.',
      severity: 'error',
      from: { path: '^(packages|apps)/[^/]+/src/', pathNot: [tests, '/src/testing/'] },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only', 'npm-peer', 'npm'],
        pathNot: 'node_modules/@types/',
      },
    },
    {
      name: 'declared-dependencies',
      comment: 'What ships imports only what its own package.json lists: pnpm finds the rest by luck.',
      severity: 'error',
      from: { path: '^(packages|apps)/[^/]+/src/', pathNot: [tests, '/src/testing/'] },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'resolvable',
      comment: 'An import that cannot be resolved: a missing dependency or a misspelt file.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: ['(^|/)dist/', '(^|/)\\.spike/', '(^|/)\\.astro/', '(^|/)gen/'] },
    builtInModules: { add: ['node:sqlite', 'node:test', 'node:sea'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@agentlightning/source', 'import', 'types', 'node', 'default'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json'],
    },
  },
};
