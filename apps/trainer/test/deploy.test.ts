import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadPrompts, type Store } from '@agentlightning/core';
import type { ModelVersion } from '@agentlightning/core/protocol';
import { modelCallToSpan } from '@agentlightning/core/spans';
import { openStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandOutputs } from '../src/cli/output/command-outputs.ts';
import { promote, rollback } from '../src/deployments/change-deployment.ts';
import { findReferencedRun } from '../src/run/referenced-run.ts';
import { readRunState } from '../src/run/run-state.ts';
import type { Trainer } from '../src/trainer.ts';
import { type EndedCommand, runAgl } from './agl-command.ts';
import { type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'agl-deploy-'));
const url = `sqlite:${path.join(folder, 'agl.db')}`;
let store: Store;
beforeAll(async () => {
  store = await openStore(url);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const author = { by: 'ada', reason: 'fewer complaints' };

function promptsVersion(name: string): ModelVersion {
  return {
    version: `search-1@${name}`,
    kind: 'prompts',
    run: 'search-1',
    step: null,
    baseModel: null,
    data: null,
    configSha256: '0'.repeat(64),
    location: null,
    source: null,
    digest: `sha256:${name}`,
    prompts: { answering: { template: `${name}: {question}` } },
    reward: 0.5,
  };
}

test('the prompts of the live version reach applications, and a rollback restores the previous ones', async () => {
  await promote(store, 'help-desk', { ...author, version: promptsVersion('v1') });
  using loaded = await loadPrompts({ store, deployment: 'help-desk' });
  expect(loaded.version).toBe('search-1@v1');
  const { history } = await promote(store, 'help-desk', { ...author, version: promptsVersion('v2') });
  expect(history.map(({ version, previous, by }) => [version, previous, by])).toEqual([
    ['search-1@v1', null, 'ada'],
    ['search-1@v2', 'search-1@v1', 'ada'],
  ]);
  await loaded.refresh();
  expect(loaded.version).toBe('search-1@v2');
  const { live } = await rollback(store, 'help-desk', { by: 'bob', reason: 'worse' });
  await loaded.refresh();
  expect([live, loaded.version]).toEqual(['search-1@v1', 'search-1@v1']);
  await expect(rollback(store, 'help-desk', author)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a deployment that collects traces keeps them, and its name is not that of another run', async () => {
  const call = modelCallToSpan({
    rolloutId: 'ro-production',
    attemptId: 'at-1',
    spanId: '00000000000000a1',
    responseId: null,
    model: 'any',
    policyVersion: null,
    agentName: null,
    agentPath: null,
    promptTokenIds: [],
    choices: [],
    temperature: 1,
    isTrainable: false,
    untrainableReason: null,
    request: null,
    response: null,
    startTimeMs: 1,
    endTimeMs: 2,
  });
  await store.recordTraces('traced', [call]);
  await promote(store, 'traced', { ...author, version: promptsVersion('v1') });
  expect((await store.queryRollouts({ runId: 'traced' })).total).toBe(1);
  await store.createRun({ runId: 'a-training', name: 'a-training', config: {} });
  await expect(promote(store, 'a-training', { ...author, version: promptsVersion('v1') })).rejects.toMatchObject({
    code: 'CONFLICT',
  });
});

test('of two promotions at once, one is a conflict', { timeout: 30_000 }, async () => {
  await promote(store, 'contended', { ...author, version: promptsVersion('v1') });
  const outcomes = await Promise.allSettled(
    ['v2', 'v3'].map((name) => promote(store, 'contended', { ...author, version: promptsVersion(name) })),
  );
  const failed = outcomes.filter(({ status }) => status === 'rejected');
  expect(failed).toMatchObject([{ reason: { code: 'CONFLICT' } }]);
});

test('a reference to a deployment is the version that it has, and says so when no run has made it', async () => {
  const upstream = ['--endpoint', 'http://127.0.0.1:9/v1', '--model', 'gpt-any'];
  expect(await runAgl(['deploy', ...upstream, '--to', 'outside', '--store', url])).toMatchObject({ code: 0 });
  const outside = await runAgl(['deploy', 'outside@live', '--to', 'other', '--store', url]);
  expect(outside.stderr).toContain('outside@live is gpt-any, a model that no run of this store has made');
  await promote(store, 'desk', { ...author, version: promptsVersion('v1') });
  await expect(findReferencedRun(store, 'desk@live')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await store.createRun({ runId: 'search-1', name: 'search-1', config: {} });
  expect(await findReferencedRun(store, 'desk@live')).toMatchObject({ run: { runId: 'search-1' }, choice: 'v1' });
  expect(await findReferencedRun(store, 'search-1@best')).toMatchObject({ choice: 'best' });
});

test('agl deploy records a checkpoint with its origin, which agl models and agl deployments show', async () => {
  const { events, error } = await trainSmall(smallTrainer(folder), { runId: 'trained' });
  expect(error).toBeNull();
  expect(events.at(-1)?.type).toBe('finished');
  const flags = ['--store', url, '--json'];
  const deployed = await runAgl(['deploy', 'trained@final', '--to', 'support-agent', '--reason', 'first', ...flags]);
  expect(deployed).toMatchObject({ code: 0 });
  expect(commandOutputs['deploy']?.schema.parse(JSON.parse(deployed.output))).toMatchObject({
    live: 'trained@1',
    history: [{ action: 'promote', previous: null, reason: 'first' }],
  });
  const models = await runAgl(['models', 'trained@1', ...flags]);
  expect(commandOutputs['models']?.schema.parse(JSON.parse(models.output))).toMatchObject({
    kind: 'weights',
    run: 'trained',
    step: 1,
    baseModel: 'tiny-random',
    data: expect.stringContaining('8 tasks'),
    deployments: [{ name: 'support-agent', isLive: true }],
  });
  expect((await runAgl(['deployments', '--store', url])).output).toContain('support-agent');
  expect(await runAgl(['deploy', 'trained@99', '--to', 'support-agent', '--store', url])).toMatchObject({ code: 2 });
  expect(await runAgl(['deploy', '--to', 'support-agent', '--store', url])).toMatchObject({ code: 2 });
});

test('agl deploy refuses a final model that is worse on held-out tasks, unless the fall is accepted', async () => {
  expect((await trainSmall(smallTrainer(folder, { steps: 2 }), { runId: 'forgetful' })).error).toBeNull();
  const run = await store.getRun('forgetful');
  const { before, after } = readRunState(run, folder);
  const fallen = { before: { ...before, reward: 0.75 }, after: { ...after, reward: 0.25 }, verdict: 'worse' };
  await store.updateRun('forgetful', { state: JSON.parse(JSON.stringify({ ...run.state, ...fallen })) });
  const deployed = (version: string, ...flags: readonly string[]): Promise<EndedCommand> =>
    runAgl(['deploy', version, '--to', 'guarded', '--store', url, ...flags]);
  const refused = await deployed('forgetful@final');
  expect(refused.stderr).toContain('forgetful@2 is worse on the held-out tasks');
  expect(refused.stderr).toContain('reward 0.25 instead of 0.75');
  await expect(store.getRun('guarded')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await deployed('forgetful@1')).toMatchObject({ code: 0 });
  expect((await deployed('forgetful@final', '--accept-worse')).stderr).toContain(
    'needs a version or --promote, and a reason',
  );
  const accepted = await deployed('forgetful@final', '--json', '--accept-worse', '--reason', 'fixes refunds');
  expect(JSON.parse(accepted.output)).toMatchObject({
    live: 'forgetful@2',
    history: [{}, { reason: 'accepted although worse: fixes refunds' }],
  });
});

test('guards are evaluated before and after a training, and a version of which they say nothing is not deployed', async () => {
  const guards = { refunds: Array.from({ length: 5 }, (_, index) => ({ index, question: `Refund ${index}?` })) };
  const config = { steps: 2, evaluation: { guards } };
  expect((await trainSmall(smallTrainer(folder, config), { runId: 'watched' })).error).toBeNull();
  const run = await store.getRun('watched');
  expect(readRunState(run, folder).guards).toMatchObject({
    refunds: { before: { rollouts: 5 }, after: { rollouts: 5 }, verdict: expect.any(String) },
  });
  expect(run.config['rollouts']).toMatchObject({ 'evaluation.guards': expect.stringContaining('refunds: 5 tasks') });
  const other = smallTrainer(folder, {
    ...config,
    steps: 3,
    evaluation: { guards: { refunds: guards.refunds.slice(1) } },
  });
  expect(String((await trainSmall(other, { resume: 'watched' })).error)).toContain(
    'evaluation.guards was refunds: 5 tasks',
  );
  const agl = (...args: readonly string[]): Promise<EndedCommand> => runAgl([...args, '--store', url]);
  const early = await agl('deploy', 'watched@1', '--to', 'watched-desk');
  expect(early.stderr).toContain(
    'whether watched@1 is worse on the guard refunds is not known: the run measured step 2',
  );
  expect((await agl('serve', 'watched@1', '--as', 'watched-desk')).stderr).toContain('is not known');
  await expect(store.getRun('watched-desk')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const verdict = async (name: string): Promise<void> => {
    const { state } = await store.getRun('watched');
    const { guards: recorded } = readRunState(await store.getRun('watched'), folder);
    const changed = { ...state, guards: { refunds: { ...recorded?.['refunds'], verdict: name } } };
    await store.updateRun('watched', { state: JSON.parse(JSON.stringify(changed)) });
  };
  await verdict('worse');
  expect((await agl('deploy', 'watched@final', '--to', 'watched-desk')).stderr).toContain(
    'is worse on the guard refunds',
  );
  await verdict('not-significant');
  expect(await agl('deploy', 'watched@final', '--to', 'watched-desk')).toMatchObject({ code: 0 });
});

test('a training keeps the checkpoint of a deployment, and agl store delete refuses its run by name', async () => {
  const deployed = { ...promptsVersion('v1'), version: 'pruned@1', kind: 'weights', run: 'pruned', step: 1 } as const;
  await promote(store, 'pinned', { ...author, version: deployed });
  const config = { steps: 3, checkpoints: { keep: 1, keepBest: false } };
  expect((await trainSmall(smallTrainer(folder, config), { runId: 'pruned' })).error).toBeNull();
  const { checkpoints } = readRunState(await store.getRun('pruned'), folder);
  expect(checkpoints.map(({ step }) => step)).toEqual([1, 3]);
  const deletion = ['store', 'delete', '--run', 'pruned', '--force', '--store', url];
  const refused = await runAgl(deletion);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('pruned@1 is live in the deployment pinned');
  const next = (from: string): Trainer<SmallTask> => smallTrainer(folder, { checkpoints: { from } });
  expect((await trainSmall(next('pinned@live'), { runId: 'continued' })).error).toBeNull();
  expect(readRunState(await store.getRun('continued'), folder).from).toMatchObject({ runId: 'pruned', step: 1 });
  const { error } = await trainSmall(next('pinned@candidate'), { runId: 'no-candidate' });
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('the deployment pinned has no version "candidate"'),
  });
  await promote(store, 'pinned', { ...author, version: promptsVersion('v2') });
  expect((await runAgl(deletion)).stderr).toContain('a rollback restores pruned@1 in the deployment pinned');
  await promote(store, 'pinned', { ...author, version: promptsVersion('v3') });
  expect(await runAgl(deletion)).toMatchObject({ code: 0 });
});
