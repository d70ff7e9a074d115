import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type RolloutContext, withRollout } from '@agentlightning/core';
import { aRolloutContext } from '@agentlightning/core/testing';
import { runTask } from '@agentlightning/runner';
import { openStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type VerifiersOptions, verifiersEnvironment } from '../src/index.ts';

const endpoint = { baseUrl: 'http://127.0.0.1:9/v1', model: 'any', apiKey: null };
let folder = '';
let python = '';

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agl-bridge-'));
  python = path.join(folder, 'python');
  const program = path.join(import.meta.dirname, 'fixtures/scripted-bridge.ts');
  await writeFile(python, `#!/bin/sh\nexec "${process.execPath}" "${program}"\n`, { mode: 0o755 });
});
afterAll(() => rm(folder, { recursive: true }));

/** An environment with the scripted bridge, and a function that plays a task. */
function scripted(id: string, options: Partial<VerifiersOptions> = {}) {
  const environment = verifiersEnvironment({ id, python, ...options });
  const play = (index: number, context: Partial<RolloutContext> = {}): Promise<number> =>
    withRollout(aRolloutContext({ endpoint, ...context }), () => environment.agent({ index }));
  return { environment, play, [Symbol.asyncDispose]: () => environment.close() };
}

test('rollouts of a process share a bridge, and have its rewards', async () => {
  await using one = scripted('plays');
  const [pid, ...rewards] = await Promise.all([0, 3, 7].map((index) => one.play(index)));
  expect(rewards).toEqual([0.3, 0.7]);
  expect(await one.play(0)).toBe(pid);
});

test('tasks are positions in the taskset', () => {
  const { environment } = scripted('plays');
  expect(environment.tasks(4, 6)).toEqual([{ index: 4 }, { index: 5 }]);
});

test('a crash of the bridge fails its rollouts as infrastructure, and the next rollout starts it again', async () => {
  await using one = scripted('crashes');
  const pid = await one.play(0);
  const store = await openStore(':memory:');
  const outcome = await runTask({ store, agent: () => one.play(1), task: { input: {} } });
  await store.close();
  expect(outcome).toMatchObject({ reward: null, failureOrigin: 'infrastructure' });
  expect(outcome.error?.message).toMatch(
    /its Python process: it exited with SIGKILL. Its last output: .*Segmentation fault/s,
  );
  expect(await one.play(0)).not.toBe(pid);
});

test.each(['serves', 'detaches'])('a killed bridge whose server %s fails its rollouts at once', async (id) => {
  await using one = scripted(id);
  const [pid, server] = [await one.play(0), await one.play(2)];
  const store = await openStore(':memory:');
  const started = Promise.withResolvers<void>();
  const agent = (): Promise<number> => {
    started.resolve();
    return one.play(1);
  };
  const pending = runTask({ store, agent, task: { input: {} } });
  await started.promise;
  // The bridge has received the pending request when it responds to a later one.
  await one.play(0);
  process.kill(pid, 'SIGKILL');
  expect(await pending).toMatchObject({
    reward: null,
    failureOrigin: 'infrastructure',
    error: { message: expect.stringContaining('its Python process: it exited with SIGKILL') },
  });
  await store.close();
  expect(await one.play(0)).not.toBe(pid);
  // A bridge cannot end the processes of other groups.
  if (id === 'detaches') process.kill(server, 'SIGKILL');
  await untilEnded(server);
});

test('rollouts that wait for the start end with their signal', async () => {
  await using one = scripted('slow');
  const signal = AbortSignal.timeout(50);
  const results = await Promise.allSettled([0, 1].map((index) => one.play(index, { signal })));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('an environment that is closed during the start fails the rollouts that wait for it', async () => {
  const one = scripted('slow');
  const failed = expect(Promise.all([0, 1].map((index) => one.play(index)))).rejects.toThrow(
    /\[ENVIRONMENT_FAILED\] .* it is closed/,
  );
  await one.environment.close();
  await failed;
});

test('an aborted rollout is cancelled in the bridge, which plays on', async () => {
  await using one = scripted('hangs');
  expect(await one.play(0)).toBe(0);
  const signal = AbortSignal.timeout(50);
  await expect(one.play(1, { signal })).rejects.toThrow(/timeout/);
  expect(await one.play(0)).toBe(1);
});

test.each([
  ['fails', /\[ENVIRONMENT_FAILED\] Task 2 of taskset "fails" failed: TaskError: no dice/],
  ['nan', /\[ENVIRONMENT_FAILED\] Environment "nan" failed in its Python process: Unexpected token 'N'/],
  ['exits', /\[ENVIRONMENT_FAILED\] Environment "exits" failed in its Python process: it exited with code 3/],
  ['garbage', /\[ENVIRONMENT_FAILED\] Environment "garbage" failed in its Python process: Unexpected token 'L'/],
  ['short', /\[CONFIG\] Task 2 of taskset "short" failed: the taskset has 5 tasks/],
  ['no-model', /\[AGENT_FAILED\] Model call failed with status 503: ProviderError: away/],
])('a bridge that %s is an error, never a reward', async (id, message) => {
  await using one = scripted(id);
  await expect(one.play(2)).rejects.toThrow(message);
});

test('a taskset that cannot be loaded is an error with the remedy', async () => {
  await using one = scripted('missing');
  const message = expect.stringContaining('Taskset "missing" of verifiers cannot be loaded: no package verifiers');
  await expect(one.play(0)).rejects.toMatchObject({ code: 'CONFIG', message, remedy: 'Install it.' });
});

test('a missing Python is an error with the remedy', async () => {
  await using one = scripted('plays', { python: '/no/such/python' });
  const remedy = expect.stringContaining('set `python`');
  const message = 'Python cannot be started as /no/such/python: spawn /no/such/python ENOENT';
  await expect(one.play(0)).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringContaining(message),
    remedy,
  });
});

test('the bridge ends when the trainer is killed', async () => {
  const program = path.join(import.meta.dirname, 'fixtures/killed-verifiers.ts');
  const trainer = spawn(process.execPath, ['--conditions=@agentlightning/source', program, python], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output]: Buffer[] = await once(trainer.stdout, 'data');
  const pid = Number(String(output));
  expect(isRunning(pid)).toBe(true);
  trainer.kill('SIGKILL');
  await untilEnded(pid);
});

async function untilEnded(pid: number): Promise<void> {
  // Nothing notifies of the end of a process that is not a child.
  const deadline = performance.now() + 10_000;
  while (isRunning(pid)) {
    expect(performance.now()).toBeLessThan(deadline);
    await wait(20);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.each([
  [{ id: '' }, /`id` of `verifiersEnvironment` must not be empty/],
  [{ id: 'sums', maxTurns: 0 }, /`maxTurns` of `verifiersEnvironment` must be a whole number from 1, not 0/],
])('the options %o are refused', (options, message) => {
  expect(() => verifiersEnvironment(options)).toThrow(message);
});

test('without a rollout there is not a model to play', async () => {
  await expect(scripted('plays').environment.agent({ index: 0 })).rejects.toThrow(/\[OUTSIDE_ROLLOUT\]/);
});
