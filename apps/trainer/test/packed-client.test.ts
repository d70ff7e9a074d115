// @module-tag long
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { installRuntime } from '../../../tools/matrix/installed-runtime.ts';
import { packPackages } from '../../../tools/matrix/package-archives.ts';
import { runtimes } from '../../../tools/matrix/runtimes.ts';
import { runCommand } from '../../../tools/verify/run-command.ts';
import { AglProcess } from './agl-process.ts';

/** It installs packages, on a machine that may be busy. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

/** The program of a user, with the client from its archive. */
const program = `
import { AgentLightningClient } from '@agentlightning/client';

async function agent({ question }, { endpoint }) {
  const response = await fetch(endpoint.baseUrl + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + endpoint.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ model: endpoint.model, messages: [{ role: 'user', content: question }], max_tokens: 4 }),
  });
  const { choices } = await response.json();
  return /[0-9]/.test(choices[0].message.content) ? 1 : 0;
}

const client = new AgentLightningClient({ url: process.env.AGL_URL, apiKey: process.env.AGL_KEY });
const data = await client.uploadData({ train: 'tasks.jsonl', test: [{ question: 'How many?' }, { question: 'And how?' }] });
const algorithm = { type: 'grpo', groupSize: 2 };
const run = await client.train(agent, { data, concurrency: 4, algorithm, steps: 2, tasksPerStep: 3 });
const events = [];
for await (const { type } of run.events()) events.push(type);
const { status, step, rewardBefore, endpoint } = await run.result();
const rollouts = (await run.rollouts()).filter(({ status }) => status === 'succeeded').length;
console.log(JSON.stringify({ type: 'result', status, step, rewardBefore, rollouts, events, model: endpoint.model }));
`;

let folder = '';
let server: AglProcess | null = null;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-packed-client-'));
  const project = path.join(folder, 'project');
  mkdirSync(project);
  writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'a-users-project', private: true }));
  writeFileSync(path.join(project, 'program.mjs'), program);
  const tasks = Array.from({ length: 8 }, (_, index) => `${JSON.stringify({ question: `How many ${index}?` })}\n`);
  writeFileSync(path.join(project, 'tasks.jsonl'), tasks.join(''));
  const archives = await packPackages(['core', 'runner', 'client'], path.join(folder, 'archives'));
  const install = ['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...archives.values()];
  const { isOk, output } = await runCommand(install, { cwd: project });
  expect(isOk, output).toBe(true);
  const data = path.join(folder, 'server');
  server = new AglProcess(['server', '--data', data, '--port', '0', '--model', 'tiny-random']);
  await server.event('ready');
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test.for(['node22.12', 'node24', 'bun', 'deno'])('the packed client trains on %s', async (name) => {
  const runtime = runtimes.find((each) => each.name === name);
  if (runtime === undefined) throw new Error(`there is no runtime ${name}`);
  const command = [
    ...(await installRuntime(runtime, path.join(tmpdir(), 'agl-packed-client-runtimes'))),
    'program.mjs',
  ];
  const ready = await server?.event('ready');
  const env = { AGL_URL: String(ready?.['url']), AGL_KEY: readFileSync(String(ready?.['keyFile']), 'utf8').trim() };
  await using client = new AglProcess([], { command, env, cwd: path.join(folder, 'project') });
  expect(await client.event('result')).toMatchObject({
    status: 'finished',
    step: 2,
    rewardBefore: expect.any(Number),
    model: expect.stringMatching(/^run-/),
    events: expect.arrayContaining(['queued', 'started', 'evaluated', 'stepped', 'finished', 'end']),
  });
  // Two steps of three groups of two, and two evaluations of two tasks.
  expect((await client.event('result'))['rollouts']).toBeGreaterThanOrEqual(16);
  expect(await client.exitCode()).toBe(0);
});
