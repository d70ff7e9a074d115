import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readScript, serveScript } from './scripted-endpoint.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-script-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(content: string): string {
  const file = path.join(folder, 'answers.json');
  writeFileSync(file, content);
  return file;
}

function call(baseUrl: string, messages: readonly object[]): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify({ model: 'any', messages }) });
}

test('a script is a list of texts, tool calls and errors, which are served in order', async () => {
  const toolCalls = [{ name: 'add', arguments: { a: 2 } }];
  const script = ['yes', { toolCalls }, { status: 429 }] as const;
  expect(await readScript(fileWith(JSON.stringify(script)))).toEqual(script);
  const endpoint = await serveScript(script);
  const messages = [{ role: 'user', content: 'Well?' }];
  const first = await (await call(endpoint.baseUrl, messages)).json();
  expect(first).toMatchObject({ choices: [{ message: { content: 'yes' } }] });
  const second = await (await call(endpoint.baseUrl, messages)).json();
  expect(second).toMatchObject({ choices: [{ message: { tool_calls: [{ function: { name: 'add' } }] } }] });
  expect((await call(endpoint.baseUrl, messages)).status).toBe(429);
  expect(await endpoint.finish()).toBeNull();
});

test('what a real model rejects is rejected, and unused answers are reported', async () => {
  const endpoint = await serveScript(['yes']);
  expect((await call(endpoint.baseUrl, [])).status).toBe(400);
  expect((await call(endpoint.baseUrl, [{ role: 'robot', content: 'Hi' }])).status).toBe(400);
  expect(await endpoint.finish()).toMatch(/1 step of the script not used/);
});

test.each([
  ['not JSON', '[', /cannot be read/],
  ['not a list', '{}', /invalid script/],
  ['an unknown answer', '[{ "tool": "add" }]', /invalid script[\s\S]*must be a text/],
  ['no error status', '[{ "status": 200 }]', /invalid script/],
])('%s is an error', async (_name, content, message) => {
  await expect(readScript(fileWith(content))).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(message),
  });
});
