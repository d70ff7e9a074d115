import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const recorded = ['chat tiny', 'step 1', 'invoke_agent writer'];

/** Runs an agent in a child process, from the sources of the workspace, and returns its parsed output. */
async function run(fixture: string, baseUrl: string, ...flags: readonly string[]): Promise<unknown> {
  const path = fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url));
  const args = ['--conditions=@agentlightning/source', ...flags, path, baseUrl];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: packageFolder });
  return JSON.parse(stdout);
}

describe('agents in child processes', () => {
  test('a CommonJS agent is traced, with both versions of the AI SDK', async () => {
    await using model = await ScriptedModel.start([respondWith('seven'), respondWith('six')]);
    expect(await run('agent.cjs', model.baseUrl)).toEqual([
      ['seven', ...recorded],
      ['six', ...recorded],
    ]);
  });

  test('an agent is traced by a process flag, without code changes', async () => {
    await using model = await ScriptedModel.start([respondWith('hi')]);
    const traced = await run('registered-agent.mjs', model.baseUrl, '--import=@agentlightning/ai-sdk/register');
    expect(traced).toEqual(['hi', ...recorded]);
  });

  test('importing the package has no side effects', async () => {
    const source = `
      const { fetch: own } = globalThis;
      await import('@agentlightning/ai-sdk');
      const isSame = own === globalThis.fetch && globalThis.AI_SDK_TELEMETRY_INTEGRATIONS === undefined;
      process.stdout.write(JSON.stringify(isSame));`;
    const args = ['--conditions=@agentlightning/source', '--input-type=module', '--eval', source];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: packageFolder });
    expect(stdout).toBe('true');
  });
});
