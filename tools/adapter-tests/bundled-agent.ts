import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';

/** The module formats of bundles, with the extension of their files. */
export const bundleFormats = [
  ['cjs', '.cjs'],
  ['esm', '.mjs'],
] as const;

const requireInEsModules = `import { createRequire as createRequireOfBundle } from 'node:module';
const require = createRequireOfBundle(import.meta.url);`;

/**
 * Bundles an agent with all of its dependencies, runs it outside the workspace, so that no package is resolved next to the
 * bundle, and returns its output.
 */
export async function runBundledAgent(
  entryPoint: string,
  { format, args }: { readonly format: (typeof bundleFormats)[number]; readonly args: readonly string[] },
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const [name, extension] = format;
  const folder = await mkdtemp(path.join(tmpdir(), 'agl-bundle-'));
  try {
    const outfile = path.join(folder, `bundled-agent${extension}`);
    await build({
      entryPoints: [entryPoint],
      outfile,
      format: name,
      bundle: true,
      minify: true,
      platform: 'node',
      conditions: ['@agentlightning/source'],
      // CommonJS dependencies require Node modules.
      ...(name === 'esm' ? { banner: { js: requireInEsModules } } : {}),
      logLevel: 'silent',
    });
    return await promisify(execFile)(process.execPath, [outfile, ...args], { cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}
