// @module-tag long
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

test.for([
  ['cjs', 'bundled-agent.cjs'],
  ['esm', 'bundled-agent.mjs'],
] as const)('an agent in a %s bundle is traced and redirected', async ([format, file]) => {
  await using own = await ScriptedModel.start([respondWith('own')]);
  await using gateway = await ScriptedModel.start([respondWith('trained')]);
  // Outside the workspace, so that no package is resolved next to the bundle.
  const folder = await mkdtemp(join(tmpdir(), 'openai-agents-bundle-'));
  try {
    const outfile = join(folder, file);
    await build({
      entryPoints: [fileURLToPath(new URL('fixtures/bundled-agent.mjs', import.meta.url))],
      outfile,
      format,
      bundle: true,
      minify: true,
      platform: 'node',
      conditions: ['@agentlightning/source'],
      // CommonJS dependencies require Node modules.
      ...(format === 'esm' ? { banner: { js: requireInEsModules } } : {}),
      logLevel: 'silent',
    });
    const args = [outfile, own.baseUrl, gateway.baseUrl];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stderr).not.toContain('AgentLightningWarning');
    expect(JSON.parse(stdout)).toEqual({
      spans: ['chat tiny', 'turn 1', 'invoke_agent Helper'],
      answers: ['trained', 'own'],
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

const requireInEsModules = `import { createRequire as createRequireOfBundle } from 'node:module';
const require = createRequireOfBundle(import.meta.url);`;
