import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';

const agents = [
  ['in CommonJS, instrumented before the framework is loaded', 'commonjs-agent.cjs'],
  ['as an ES module, instrumented by an import', 'es-module-agent.mjs'],
] as const;

test.for(agents)('an agent %s is traced and redirected in its own process', async ([, file]) => {
  await using own = await ScriptedModel.start([respondWith('own')]);
  await using gateway = await ScriptedModel.start([respondWith('trained')]);
  const script = fileURLToPath(new URL(`fixtures/${file}`, import.meta.url));
  // Uses the sources, so that no build is required. NODE_ENV=test would disable the framework's tracing.
  const args = ['--conditions=@agentlightning/source', script, own.baseUrl, gateway.baseUrl];
  const env = { ...process.env, NODE_ENV: 'production', OPENAI_API_KEY: '' };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
  expect(JSON.parse(stdout)).toEqual({
    names: ['chat tiny', 'turn 1', 'invoke_agent Helper'],
    answers: ['trained', 'own'],
  });
  expect(stderr).not.toContain('AgentLightningWarning');
});
