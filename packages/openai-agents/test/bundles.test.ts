// @module-tag long
import path from 'node:path';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test, vi } from 'vitest';
import { bundleFormats, runBundledAgent } from '../../../tools/adapter-tests/bundled-agent.ts';

/** esbuild bundles the framework with all of its dependencies. */
vi.setConfig({ testTimeout: 120_000 });

test.for(bundleFormats)('an agent in a %s bundle is traced and redirected', async (format) => {
  await using own = await ScriptedModel.start([respondWith('own')]);
  await using gateway = await ScriptedModel.start([respondWith('trained')]);
  const agent = path.join(import.meta.dirname, 'fixtures/bundled-agent.mjs');
  const { stdout, stderr } = await runBundledAgent(agent, { format, args: [own.baseUrl, gateway.baseUrl] });
  expect(stderr).not.toContain('AgentLightningWarning');
  expect(JSON.parse(stdout)).toEqual({
    spans: ['chat tiny', 'turn 1', 'invoke_agent Helper'],
    answers: ['trained', 'own'],
  });
});
