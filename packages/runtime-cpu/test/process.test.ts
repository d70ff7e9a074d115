import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeKeyFile } from '@agentlightning/runtime/internal/serving';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CpuRuntimeProcess, failToStart, startProcess } from './cpu-runtime-process.ts';

const flagsOf = (folder: string): string[] => ['--dir', folder, '--key-file', path.join(folder, 'runtime.key')];

let directory: string;
let running: CpuRuntimeProcess;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'runtime-cpu-'));
  await writeKeyFile(path.join(directory, 'runtime.key'), 'secret');
  running = await startProcess(flagsOf(directory));
});

afterAll(async () => {
  await running.end('SIGTERM');
  await rm(directory, { recursive: true });
});

test('responds to health probes at the address of its first line', async () => {
  expect(running.inference).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  const response = await fetch(new URL('/health', running.inference));
  expect(await response.json()).toEqual({ status: 'ok' });
});

test('shuts down gracefully when its standard input ends, and on SIGTERM', async () => {
  const [orphan, asked] = await Promise.all([startProcess(flagsOf(directory)), startProcess(flagsOf(directory))]);
  orphan.stdin.end();
  await asked.end('SIGTERM');
  expect(await Promise.all([orphan.exited, asked.exited])).toEqual([0, 0]);
});

test('reports a port in use', async () => {
  const grpcPort = running.address.split(':')[1] ?? '';
  const { port } = new URL(running.inference);
  const failures = await Promise.all([
    failToStart([...flagsOf(directory), '--port', grpcPort]),
    failToStart([...flagsOf(directory), '--inference-port', port]),
  ]);
  for (const [index, { code, stderr }] of failures.entries()) {
    expect(code).toBe(1);
    expect(stderr).toMatch(/^\[PORT_IN_USE\] .*another program has the port\. Stop that program.*\n$/m);
    expect(stderr).toContain(index === 0 ? grpcPort : port);
  }
});

test('reports an invalid flag in one line', async () => {
  await writeFile(path.join(directory, 'empty'), '\n');
  const wrong = [
    ['--prot', '1'],
    ['--port', '70000'],
    ['--base-model', 'huge'],
    ['--key-file', path.join(directory, 'nothing')],
    ['--key-file', path.join(directory, 'empty')],
  ];
  const failures = await Promise.all(wrong.map(failToStart));
  expect((await failToStart(['--dir', directory])).stderr).toMatch(/^\[CONFIG\] --key-file is missing[^\n]+\n$/);
  for (const [index, { code, stderr }] of failures.entries()) {
    expect(code).toBe(1);
    expect(stderr).toMatch(/^\[CONFIG\] [^\n]+\n$/);
    expect(stderr).toContain(wrong[index]?.[0]);
  }
});
