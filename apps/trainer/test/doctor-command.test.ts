import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { failWith, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkEndpoint } from '../src/doctor/check-endpoint.ts';
import { checkPort, checkSecrets } from '../src/doctor/check-machine.ts';
import { checkStore } from '../src/doctor/check-store.ts';
import type { Finding } from '../src/doctor/finding.ts';
import { runAgl } from './agl-command.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function project(dependencies: Readonly<Record<string, string>>): void {
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ dependencies }));
  for (const [name, version] of Object.entries(dependencies)) {
    const home = path.join(folder, 'node_modules', name);
    mkdirSync(home, { recursive: true });
    writeFileSync(path.join(home, 'package.json'), JSON.stringify({ name, version }));
  }
}

async function findingsOf(
  ...flags: readonly string[]
): Promise<{ code: number; findings: ReadonlyMap<string, Finding> }> {
  const { code, output } = await runAgl(['doctor', '--json', ...flags], { cwd: folder });
  const { findings } = JSON.parse(output) as { findings: Finding[] };
  return { code, findings: new Map(findings.map((finding) => [finding.name, finding])) };
}

test('a project with a supported framework and its adapter has no errors', async () => {
  project({ ai: '7.0.173', '@agentlightning/ai-sdk': '0.1.0' });
  await using model = await ScriptedModel.start(() => respondWith('yes'));
  const { code, findings } = await findingsOf('--endpoint', model.baseUrl, '--model', 'tiny');
  expect(findings.get('framework ai')).toMatchObject({ status: 'ok', detail: '7.0.173, with @agentlightning/ai-sdk' });
  expect(findings.get('@agentlightning/ai-sdk')).toMatchObject({ status: 'ok', detail: '0.1.0' });
  expect(findings.get('store')?.detail).toContain('will be created');
  expect(findings.get('configuration')).toMatchObject({ status: 'warning' });
  expect(findings.get('model endpoint')).toMatchObject({ status: 'ok' });
  expect(findings.get('token ids')?.status).toBe('ok');
  expect(findings.has('gpu')).toBe(true);
  expect(code).toBe(0);
});

test('an unsupported framework, a missing adapter and a broken configuration are errors with a remedy', async () => {
  project({ ai: '5.0.0', '@openai/agents': '0.20.0' });
  writeFileSync(path.join(folder, 'agl.config.ts'), 'export default 1;');
  const { code, findings } = await findingsOf();
  expect(findings.get('framework ai')).toMatchObject({
    status: 'error',
    remedy: 'Install a version in ^6.0.111 || ^7.0.0.',
  });
  expect(findings.get('framework @openai/agents')?.detail).toBe('0.20.0 without an adapter');
  expect(findings.get('configuration')?.status).toBe('error');
  expect(findings.get('runtime')?.status).toBe('skipped');
  expect(code).toBe(1);
});

test('the text names each check, and what to do', async () => {
  project({});
  const { output } = await runAgl(['doctor'], { cwd: folder });
  expect(output).toMatch(/✔ +node +Node\.js 2\d/);
  expect(output).toMatch(/! +framework +no supported framework/);
  expect(output).toMatch(/→ Send the model calls of the agent through traceFetch/);
  expect(output).toMatch(/\d+ errors, \d+ warnings\n$/);
});

test.each([
  [401, /--key-env/],
  [404, /up to and with \/v1/],
  [500, /log of the server/],
])('an endpoint that responds with HTTP %d is an error', async (status, remedy) => {
  await using model = await ScriptedModel.start(() => failWith(status, { message: 'no' }));
  const [endpoint, tokens] = await checkEndpoint({
    baseUrl: model.baseUrl,
    model: 'm',
    apiKey: null,
    needsTokenIds: true,
  });
  expect(endpoint).toMatchObject({ status: 'error', remedy: expect.stringMatching(remedy) });
  expect(tokens?.status).toBe('skipped');
});

test('an endpoint that does not listen is an error', async () => {
  const model = await ScriptedModel.start([]);
  const { baseUrl } = model;
  await model.close();
  const [endpoint] = await checkEndpoint({ baseUrl, model: 'm', apiKey: null, needsTokenIds: true });
  expect(endpoint).toMatchObject({ status: 'error', detail: expect.stringContaining('ECONNREFUSED') });
});

test('a port in use is a warning', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const used = await checkPort(port, { user: 'it', remedy: 'Choose another.' });
  expect(used).toMatchObject({ status: 'warning', remedy: 'Choose another.' });
  server.close();
  await once(server, 'close');
  expect((await checkPort(port, { user: 'it', remedy: '' })).status).toBe('ok');
});

test('a file that is not a store is an error', async () => {
  const file = path.join(folder, 'agl.db');
  writeFileSync(file, 'not a database, but long enough to look like one'.repeat(100));
  expect(await checkStore(`sqlite:${file}`, null)).toMatchObject({ status: 'error' });
});

test('secrets in the environment are named without their values', () => {
  const environment = {
    AGL_TOKEN_SECRET: 'hidden',
    AGL_STORE_KEY: 'hidden',
    AGL_SERVER_KEY: '',
    AGL_MAX_TOKENS: '5',
    KEY: 'k',
  };
  const findings = checkSecrets(environment);
  expect(findings).toMatchObject([
    { name: 'secrets', status: 'warning', remedy: expect.stringContaining('agl runner') },
  ]);
  expect(findings[0]?.detail).toMatch(/^AGL_STORE_KEY, AGL_TOKEN_SECRET in the environment/);
  expect(JSON.stringify(findings)).not.toContain('hidden');
  expect(checkSecrets({ PATH: '/bin' })).toEqual([]);
});
