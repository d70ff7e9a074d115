import { readFileSync } from 'node:fs';
import path from 'node:path';
import { warningNames } from '@agentlightning/core/protocol';
import { serveDashboard } from '@agentlightning/dashboard';
import { openStore } from '@agentlightning/store';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { expect, test } from 'vitest';
import { createMcpServer } from '../src/cli/mcp/mcp-server.ts';
import { StoreReader } from '../src/cli/mcp/store-reader.ts';
import { buildProgram } from '../src/cli/program.ts';

const skill = readFileSync(path.resolve(import.meta.dirname, '../skills/debug-training/SKILL.md'), 'utf8');
const commandLines = [...skill.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'));

test('every agl command of the skill exists with its flags', () => {
  const program = buildProgram({ args: [], setExitCode: () => undefined });
  const calls = commandLines.filter((line) => line.startsWith('agl '));
  expect(calls.length).toBeGreaterThan(3);
  for (const line of calls) {
    const [, name = '', ...words] = line.split(' ');
    const command = program.commands.find((each) => each.name() === name);
    const known = command?.options.map(({ long }) => long) ?? [];
    expect(known).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith('--'))));
  }
});

test('every request of the skill has a response with the fields that it names', async () => {
  const store = await openStore(':memory:');
  await store.createRun({ runId: 'run-1', name: 'first', config: {} });
  await store.enqueueRollouts([{ runId: 'run-1', rolloutId: 'ro-1', input: 1, mode: 'train' }]);
  const dashboard = await serveDashboard({ store });
  const urls = commandLines.flatMap((line) => /"(http:[^"]+)"/.exec(line)?.[1] ?? []);
  expect(urls.length).toBeGreaterThan(4);
  let text = '';
  for (const url of urls) {
    const { pathname, search } = new URL(url.replace('$RUN', 'run-1').replace('$ROLLOUT', 'ro-1'));
    const response = await fetch(`${dashboard.url}${pathname}${search}`);
    expect([pathname, response.status]).toEqual([pathname, 200]);
    text += await response.text();
  }
  for (const field of ['liveness', 'runWarnings', 'failures', 'evaluations', 'siblings', 'turns', 'training']) {
    expect(text).toContain(`"${field}":`);
  }
  await dashboard.close();
  await store.close();
});

test('the skill names every warning', () => {
  expect(warningNames.filter((name) => !skill.includes(`\`${name}\``))).toEqual([]);
});

test('the skill names every tool of the MCP server, and no other', async () => {
  const server = createMcpServer(new StoreReader(':memory:'));
  const client = new Client({ name: 'test', version: '1.0.0' });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(serverSide), client.connect(clientSide)]);
  const { tools } = await client.listTools();
  const named = [...skill.matchAll(/`((?:list|get|compare)_\w+)`/g)].map(([, name]) => name);
  expect([...new Set(named)].sort()).toEqual(tools.map(({ name }) => name).sort());
  await client.close();
});
