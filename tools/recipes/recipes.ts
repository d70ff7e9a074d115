import { runtimes } from '../matrix/runtimes.ts';

/** A recipe of `docs/recipes`, and how it is run. */
export interface Recipe {
  /** The name in `--only`. */
  readonly name: string;
  /** Pages with its files, beside the overview. */
  readonly page: string;
  /** Installed packages with exact versions, beside those of Agent Lightning and `openai`. */
  readonly packages: Readonly<Record<string, string>>;
  /** The module type of the project. @default 'module' */
  readonly type?: 'module' | 'commonjs';
  /** Workspaces of the project. @default none */
  readonly workspaces?: readonly string[];
  /** Commands before the start. */
  readonly build: readonly (readonly string[])[];
  /** The command of the server, which responds to `POST /chat`; for tests, the command that runs them. */
  readonly start: readonly string[];
  /** Whether `start` is a test command, which ends. @default false */
  readonly isTest?: boolean;
  /** The runtime instead of Node.js. @default none */
  readonly runtime?: 'bun' | 'deno';
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

const typescript = { typescript: '5.9.3', '@types/node': '24.19.2' };

/** The recipes. */
export const recipes: readonly Recipe[] = [
  server('hono', { hono: '4.13.19', '@hono/node-server': '2.1.9' }),
  server('express', { express: '5.3.0' }),
  server('fastify', { fastify: '5.12.8' }),
  {
    name: 'nextjs',
    page: 'nextjs.md',
    packages: { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1', '@types/react': '19.3.0', ...typescript },
    build: [['npx', 'next', 'build']],
    start: ['npx', 'next', 'start'],
    env: { NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  },
  {
    name: 'nestjs',
    page: 'nestjs.md',
    packages: {
      '@nestjs/common': '12.5.1',
      '@nestjs/core': '12.5.1',
      '@nestjs/platform-express': '12.5.1',
      'reflect-metadata': '0.2.2',
      rxjs: '7.8.2',
      ...typescript,
    },
    type: 'commonjs',
    build: [['npx', 'tsc']],
    start: ['node', 'dist/main.js'],
  },
  {
    name: 'cloudflare-workers',
    page: 'cloudflare-workers.md',
    packages: { miniflare: '4.20260730.0', esbuild: '0.28.2' },
    build: [],
    start: ['node', 'run-worker.mjs'],
  },
  {
    name: 'aws-lambda',
    page: 'aws-lambda.md',
    packages: { esbuild: '0.28.2' },
    build: [['node', 'bundle.mjs']],
    start: ['node', 'serve-handler.mjs'],
  },
  {
    name: 'monorepo',
    page: 'monorepo.md',
    packages: {},
    workspaces: ['packages/*', 'apps/*'],
    build: [],
    start: ['node', 'apps/shop/server.mjs'],
  },
  {
    name: 'vitest',
    page: 'tests.md',
    packages: { vitest: '5.1.1' },
    build: [],
    start: ['npx', 'vitest', 'run', 'agent.test.ts'],
    isTest: true,
  },
  {
    name: 'jest',
    page: 'tests.md',
    packages: { jest: '30.5.2', esbuild: '0.28.2' },
    build: [['npx', 'esbuild', 'agent.ts', '--outfile=agent.mjs']],
    start: ['npx', 'jest', '--config', 'jest.config.json'],
    isTest: true,
    env: { NODE_OPTIONS: '--experimental-vm-modules' },
  },
  openTelemetry('otel-sdk-1', { '@opentelemetry/api': '1.9.1', '@opentelemetry/sdk-node': '0.57.2' }),
  openTelemetry('otel-sdk-2', { '@opentelemetry/api': '1.9.1', '@opentelemetry/sdk-node': '0.223.0' }),
  openTelemetry('otel-sdk-3', { '@opentelemetry/api': '1.10.0', '@opentelemetry/sdk-node': '0.301.0' }),
  {
    name: 'beside-others',
    page: 'opentelemetry.md',
    packages: {
      '@opentelemetry/api': '1.9.1',
      '@opentelemetry/core': '2.12.1',
      '@opentelemetry/exporter-trace-otlp-http': '0.223.1',
      '@opentelemetry/sdk-node': '0.223.0',
      '@opentelemetry/sdk-trace-base': '2.12.1',
      '@langfuse/openai': '5.11.1',
      '@langfuse/otel': '5.11.1',
      '@traceloop/instrumentation-openai': '0.27.0',
    },
    build: [],
    start: ['node', 'beside-others.mjs'],
    isTest: true,
  },
  { name: 'bun', page: 'bun-deno.md', packages: {}, build: [], start: ['bun-server.ts'], runtime: 'bun' },
  { name: 'deno', page: 'bun-deno.md', packages: {}, build: [], start: ['deno-server.ts'], runtime: 'deno' },
];

function openTelemetry(name: string, packages: Readonly<Record<string, string>>): Recipe {
  return { name, page: 'opentelemetry.md', packages, build: [], start: ['node', 'opentelemetry.mjs'], isTest: true };
}

function server(name: string, packages: Readonly<Record<string, string>>): Recipe {
  return { name, page: 'servers.md', packages, build: [], start: ['node', `${name}-server.ts`] };
}

/** The matrix runtime of a recipe; null for Node.js. */
export function runtimeOf({ runtime }: Recipe): (typeof runtimes)[number] | null {
  return runtimes.find(({ name }) => name === runtime) ?? null;
}
