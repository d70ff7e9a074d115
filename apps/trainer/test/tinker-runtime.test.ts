import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type FakeTinkerServer,
  startFakeTinkerServer,
  writeTinyModelFolder,
} from '@agentlightning/runtime-tinker/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AglProcess, stepOf, summaryOf } from './agl-process.ts';

const config = path.resolve(import.meta.dirname, 'fixtures/tinker.config.ts');
const twoPolicies = path.resolve(import.meta.dirname, 'fixtures/tinker-policies.config.ts');

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 });

let folder = '';
let server: FakeTinkerServer;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agl-tinker-'));
  await writeTinyModelFolder(path.join(folder, 'model'));
  const directory = path.join(folder, 'weights');
  server = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels: ['tiny-random'] });
});

afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

function agl(args: readonly string[], key = server.apiKey): AglProcess {
  const env = { TINKER_URL: server.url, TINKER_TOKENIZER: path.join(folder, 'model'), TINKER_API_KEY: key };
  return new AglProcess(args[0] === 'doctor' ? args : [...args, '--data-dir', folder], { env });
}

test('a run on a Tinker server trains, and resumes after the trainer was killed', async () => {
  await using first = agl(['train', config, '--json']);
  const runId = String((await first.event('started'))['runId']);
  await first.event('stepped', (event) => stepOf(event) === 2);
  await first.kill();
  expect(server.applied.get('optim_step')).toBeGreaterThanOrEqual(2);
  await using resumed = agl(['train', config, '--json', '--resume', runId]);
  await resumed.event('finished');
  const steps = resumed.events.filter(({ type }) => type === 'stepped').map(stepOf);
  expect(steps).not.toContain(1);
  expect(steps.at(-1)).toBe(4);
  // The weights of the checkpoint come from the server.
  expect(server.applied.get('load_weights')).toBe(1);
  // The killed run left its model on the server, and the resumed one unloaded it.
  expect(server.models).toBe(0);
});

test.each([
  { when: 'at once', acceptsLostModels: false },
  { when: 'after accepting them', acceptsLostModels: true },
])('a run resumes whose restarted server rejects requests for its models $when', async ({ acceptsLostModels }) => {
  await using run = agl(['train', config, '--json']);
  await run.event('stepped', (event) => stepOf(event) === 2);
  const port = Number(new URL(server.url).port);
  await server.close();
  const directory = path.join(folder, 'weights');
  const baseModels = ['tiny-random'];
  server = await startFakeTinkerServer({ dialect: 'binary', directory, baseModels, port, acceptsLostModels });
  await run.event('finished');
  const warnings = run.events.filter(({ type }) => type === 'warning').map(({ message }) => message);
  expect(warnings).toContainEqual(expect.stringContaining('no longer has the models'));
  expect(run.events.filter(({ type }) => type === 'stepped').map(stepOf)).toEqual([1, 2, 3, 4]);
  expect(server.applied.get('load_weights')).toBe(1);
});

test('two policies are two models of the server, and agl eval measures them and the base', async () => {
  await using run = agl(['train', twoPolicies, '--json']);
  const runId = String((await run.event('started'))['runId']);
  const metrics = summaryOf(await run.event('stepped'))['metrics'];
  expect(metrics).toMatchObject({ 'main/policy/version': 1, 'second/policy/version': 1 });
  await run.event('finished');
  await run.exitCode();
  await using measured = agl(['eval', twoPolicies, '--of', `${runId}@best`, '--against', 'base', '--json']);
  await measured.event('finished');
  await measured.exitCode();
  const subjects = measured.events.filter(({ type }) => type === 'evaluated').map(summaryOf);
  expect(subjects).toMatchObject([
    { subject: `${runId}@best (step 1)`, rollouts: 12, failed: 0 },
    { subject: 'base', rollouts: 12, failed: 0 },
  ]);
  expect(server.models).toBe(0);
});

test('a wrong key ends the run with the words of the server', async () => {
  await using run = agl(['train', config], 'tml-wrong');
  expect(await run.exitCode()).not.toBe(0);
  expect(run.stderr).toContain('invalid API key');
});

test('agl doctor measures the server and names what it does differently', async () => {
  await server.close();
  const deviations = {
    lossScale: 'token_mean',
    hasSnapshots: false,
    drawsFromAll: false,
    limitsGradient: false,
    alpha: 32,
  } as const;
  const directory = path.join(folder, 'weights');
  server = await startFakeTinkerServer({ dialect: 'json', directory, baseModels: ['tiny-random'], ...deviations });
  await using doctor = agl(['doctor', config]);
  await doctor.exitCode();
  for (const words of [
    'mean of the tokens',
    'the newest weights',
    'the likeliest responses',
    'ignores `maxGradientNorm`',
    'always 32',
  ]) {
    expect(doctor.output).toContain(words);
  }
  expect(server.models).toBe(0);
});
