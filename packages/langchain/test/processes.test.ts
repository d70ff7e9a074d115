import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';

const agents = [
  ['in CommonJS, with a model used before', 'commonjs-agent.cjs', ['own', 'trained', 'own']],
  ['as an ES module, instrumented by an import', 'es-module-agent.mjs', ['own', 'trained']],
] as const;

test.for(agents)('an agent %s is traced and redirected in its own process', async ([, file, answers]) => {
  await using own = await ScriptedModel.start(() => respondWith('own'));
  await using gateway = await ScriptedModel.start([respondWith('trained')]);
  const script = fileURLToPath(new URL(`fixtures/${file}`, import.meta.url));
  // Uses the sources, so that no build is required.
  const args = ['--conditions=@agentlightning/source', script, own.baseUrl, gateway.baseUrl];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({ spans: ['chat tiny', 'think', 'invoke_agent helper'], answers });
});

test('an existing client of the program’s own copy of openai is redirected', async () => {
  await using own = await ScriptedModel.start([]);
  await using gateway = await ScriptedModel.start([respondWith('trained')]);
  const folder = await mkdtemp(join(tmpdir(), 'langchain-program-'));
  try {
    const copy = join(folder, 'node_modules/openai');
    await mkdir(copy, { recursive: true });
    await writeFile(join(copy, 'package.json'), JSON.stringify({ name: 'openai', main: 'index.js' }));
    await writeFile(join(copy, 'index.js'), ownOpenAI);
    const script = fileURLToPath(new URL('fixtures/own-openai-agent.cjs', import.meta.url));
    const args = ['--conditions=@agentlightning/source', script, own.baseUrl, gateway.baseUrl];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stdout).toBe('trained');
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** The relevant parts of an `openai` client: it stores the `fetch` at creation and sends all requests with one method. */
const ownOpenAI = `
exports.OpenAI = class OpenAI {
  constructor({ baseURL }) {
    this.baseURL = baseURL;
    this.fetch = globalThis.fetch;
  }
  fetchWithTimeout(url, init) {
    return this.fetch.call(undefined, url, init);
  }
  async ask(messages) {
    const body = JSON.stringify({ model: 'tiny', messages });
    const headers = { 'content-type': 'application/json' };
    const response = await this.fetchWithTimeout(this.baseURL + '/chat/completions', { method: 'POST', headers, body });
    return (await response.json()).choices[0].message.content;
  }
};
`;
