import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { answer, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';

const agents = [
  ['in CommonJS, with a model that was used before', 'commonjs-agent.cjs', ['own', 'trained', 'own']],
  ['as ES module, instrumented by an import', 'es-module-agent.mjs', ['own', 'trained']],
] as const;

test.for(agents)('an agent %s is traced and redirected in a process of its own', async ([, file, answers]) => {
  await using own = await ScriptedModel.start(() => answer('own'));
  await using gateway = await ScriptedModel.start([answer('trained')]);
  const script = fileURLToPath(new URL(`fixtures/${file}`, import.meta.url));
  // Sources, so that no build is needed.
  const args = ['--conditions=@agentlightning/source', script, own.baseUrl, gateway.baseUrl];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({ spans: ['chat tiny', 'think', 'invoke_agent helper'], answers });
});
