import type { ModuleFormat } from './runtimes.ts';

/** A contract scene that is skipped in a part of the matrix. */
export interface SkippedScene {
  /** A part of the scene's name. */
  readonly scene: string;
  readonly reason: string;
}

/** A bundler in one version. It bundles a contract program with its adapter and framework. */
export interface MatrixBundler {
  /** The name in columns and in `--on`. */
  readonly name: string;
  /** The name in the documentation. */
  readonly title: string;
  readonly formats: readonly ModuleFormat[];
  /** The installed packages with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  /**
   * The script that runs it: `node bundle.mjs <entry> <output file> <format>`. It runs in the folder of the bundler's
   * packages.
   */
  readonly script: string;
  readonly skippedScenes: readonly SkippedScene[];
}

const inlinedNodeEnv: SkippedScene = {
  scene: 'it works with NODE_ENV=test',
  reason: 'Next.js runs a server that was built with NODE_ENV=production',
};

const esbuildScript = `
import { build } from 'esbuild';
const [, , entry, outfile, format] = process.argv;
// CommonJS dependencies require Node modules, but ES modules have no require function.
const banner = "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);";
await build({
  entryPoints: [entry],
  outfile,
  format,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node22',
  banner: format === 'esm' ? { js: banner } : {},
  logLevel: 'error',
});
`;

const webpackScript = `
import { basename, dirname } from 'node:path';
import webpack from 'webpack';
const [, , entry, outfile] = process.argv;
const config = {
  mode: 'production',
  target: 'node22',
  context: dirname(entry),
  entry,
  output: { path: dirname(outfile), filename: basename(outfile) },
  optimization: { nodeEnv: false },
};
webpack(config, (error, stats) => {
  if (error === null && !stats.hasErrors()) return;
  console.error(error ?? stats.toString({ all: false, errors: true }));
  process.exitCode = 1;
});
`;

const rollupScript = `
import commonjs from '@rollup/plugin-commonjs';
import json from '@rollup/plugin-json';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { isBuiltin } from 'node:module';
import { rollup } from 'rollup';
const [, , input, file] = process.argv;
const bundle = await rollup({
  input,
  external: isBuiltin,
  plugins: [nodeResolve({ exportConditions: ['node'], preferBuiltins: true }), commonjs(), json()],
  onwarn: () => {},
});
await bundle.write({ file, format: 'es', inlineDynamicImports: true });
`;

/** The application is in the project, so that it resolves the framework; Next.js is linked into it. */
const nextScript = `
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
const [, , entry, outfile] = process.argv;
const app = entry.replace(/\\.mjs$/, '-app');
const root = join(process.cwd(), '../..');
rmSync(app, { recursive: true, force: true });
mkdirSync(join(app, 'app/contract'), { recursive: true });
symlinkSync(join(process.cwd(), 'node_modules'), join(app, 'node_modules'));
cpSync(entry, join(app, 'program.mjs'));
writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
writeFileSync(join(app, 'next.config.mjs'), 'export default ' + JSON.stringify({
  output: 'standalone',
  outputFileTracingRoot: root,
  turbopack: { root },
}));
writeFileSync(join(app, 'app/contract/route.js'), \`
export const dynamic = 'force-dynamic';
export async function GET() {
  await import('../../program.mjs');
  return new Response('started');
}
\`);
const next = join(process.cwd(), 'node_modules/next/dist/bin/next');
const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' };
execFileSync(process.execPath, [next, 'build'], { cwd: app, env, stdio: 'inherit' });
const home = dirname(outfile);
// Keep links unchanged: the link to Next.js is relative.
cpSync(join(app, '.next/standalone'), join(home, 'standalone'), { recursive: true, verbatimSymlinks: true });
rmSync(app, { recursive: true });
const server = './' + join('standalone', relative(root, app), 'server.js');
writeFileSync(outfile, \`
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
Object.assign(process.env, { PORT: String(port), HOSTNAME: '127.0.0.1' });
await import(\${JSON.stringify(server)});
// The request that starts the program also ends the process.
for (;;) {
  await fetch('http://127.0.0.1:' + port + '/contract').catch(() => {});
  await sleep(100);
}
\`);
`;

/** The bundlers for current frameworks, on Node 24. */
export const bundlers: readonly MatrixBundler[] = [
  {
    name: 'esbuild',
    title: 'esbuild',
    formats: ['esm', 'cjs'],
    packages: { esbuild: '0.28.2' },
    script: esbuildScript,
    skippedScenes: [],
  },
  {
    name: 'webpack',
    title: 'webpack',
    formats: ['cjs'],
    packages: { webpack: '5.112.2' },
    script: webpackScript,
    skippedScenes: [],
  },
  {
    name: 'rollup',
    title: 'Rollup',
    formats: ['esm'],
    packages: {
      rollup: '4.68.7',
      '@rollup/plugin-commonjs': '29.0.3',
      '@rollup/plugin-json': '6.1.0',
      '@rollup/plugin-node-resolve': '16.0.3',
    },
    script: rollupScript,
    skippedScenes: [],
  },
  {
    name: 'next',
    title: 'Next.js',
    formats: ['esm'],
    packages: { next: '16.4.6', react: '19.3.1', 'react-dom': '19.3.1' },
    script: nextScript,
    skippedScenes: [inlinedNodeEnv],
  },
];
