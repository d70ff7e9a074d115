import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { aSpan } from '@agentlightning/core/testing';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { commandOutputs } from '../src/cli/output/command-outputs.ts';
import { fromStore, type TrainConfig, Trainer } from '../src/index.ts';
import { findDatasets, readDataset, storeDataset } from '../src/stored-data/named-dataset.ts';
import { type EndedCommand, runAgl } from './agl-command.ts';
import { sharedRuntime } from './shared-runtime.ts';
import { type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let url: string;
let store: SqlStore;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-named-dataset-'));
  url = `sqlite:${path.join(folder, 'agl.db')}`;
  store = await openStore(url);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function record(id: string, score: number): Promise<void> {
  const ids = { rolloutId: id, attemptId: `at-${id}`, startTimeMs: Date.now() - 1000, endTimeMs: Date.now() - 500 };
  const input = JSON.stringify({ question: `What is ${id}?` });
  const attributes = { 'agentlightning.operation.input': input, 'user.id': `user-${id}` };
  await store.recordTraces('desk', [aSpan({ ...ids, spanId: `r-${id}`, parentId: null, attributes })]);
  await store.recordFeedback({ rolloutId: id, score });
}

const agl = (...args: readonly string[]): Promise<EndedCommand> => runAgl([...args, '--store', url], { cwd: folder });

test('a data set gets versions in the store, which hold what was drawn and never change', async () => {
  for (let index = 0; index < 12; index += 1) await record(`a${index}`, index % 2);
  const draw = ['dataset', '--from', 'desk', '--format', 'tasks', '--min-score', '0.5', '--name', 'desk-tasks'];
  expect((await agl(...draw)).stderr).toContain('Stored desk-tasks@1');
  expect((await agl(...draw)).stderr).toContain('desk-tasks@1 has the same lines already');
  await record('late', 1);
  expect((await agl(...draw)).stderr).toContain('Stored desk-tasks@2');
  const listed = await agl('datasets', '--json');
  const lines = listed.output.trim().split('\n');
  expect(lines.map((line) => commandOutputs['datasets']?.schema.parse(JSON.parse(line)))).toMatchObject([
    { dataset: 'desk-tasks@1', format: 'tasks', selection: { deployment: 'desk', minScore: 0.5 } },
    { dataset: 'desk-tasks@2' },
  ]);
  expect((await agl('datasets')).output).toContain('desk-tasks@2');
  const [first, second] = await findDatasets(store, 'desk-tasks');
  expect((first?.parts.train.lines ?? 0) + (first?.parts.test.lines ?? 0)).toBe(6);
  expect((second?.parts.train.lines ?? 0) + (second?.parts.test.lines ?? 0)).toBe(7);
  await agl('datasets', 'desk-tasks@1', '--out', 'train.jsonl');
  const train = await readDataset(store, 'desk-tasks@1', 'train');
  expect(readFileSync(path.join(folder, 'train.jsonl'), 'utf8')).toBe(
    train.map((line) => `${JSON.stringify(line)}\n`).join(''),
  );
  // Retention deletes other runs; a change of a line is found.
  await store.createRun({ runId: 'old', name: 'old', config: {} });
  await store.updateRun('old', { status: 'finished' });
  await store.applyRetention({ keepRuns: 0 });
  await expect(store.getRun('old')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await findDatasets(store)).toHaveLength(2);
  const { items } = await store.queryRollouts({ runId: 'desk-tasks@2', modeIn: ['train'] });
  await store.updateRollout(items[0]?.rolloutId ?? '', { input: { question: 'Another one?' } });
  await expect(readDataset(store, 'desk-tasks@2', 'train')).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('names, versions and empty draws that cannot be are refused, and nothing is stored', async () => {
  await record('a', 0);
  const draw = ['dataset', '--from', 'desk', '--format', 'tasks'];
  expect(await agl(...draw, '--name', 'desk@3')).toMatchObject({ code: 2 });
  expect((await agl(...draw, '--name', 'desk tasks')).stderr).toContain('is not an id');
  expect((await agl(...draw, '--min-score', '1', '--name', 'desk-tasks')).stderr).toContain('would have no line');
  expect((await agl('datasets', 'desk-tasks@1')).stderr).toContain('the store has no data set "desk-tasks@1"');
  expect((await agl('datasets', '--out', 'x.jsonl')).stderr).toContain('--out needs a version');
  expect(await findDatasets(store)).toEqual([]);
});

test('versions that are stored at the same time get different numbers', async () => {
  const store4 = [1, 2, 3, 4].map((value) =>
    storeDataset(store, {
      name: 'many',
      format: 'tasks',
      selection: {},
      by: 'test',
      lines: { train: [{ value }], test: [] },
    }),
  );
  const ids = (await Promise.all(store4)).map(({ id }) => id);
  expect(ids.toSorted()).toEqual(['many@1', 'many@2', 'many@3', 'many@4']);
});

test('a run trains on tasks of the store, and a resumed run has the same ones in spite of later traces and feedback', async () => {
  for (let index = 0; index < 6; index += 1) await record(`a${index}`, index < 4 ? 1 : 0);
  const held = { question: 'held out?' };
  const dataset = {
    name: 'held',
    format: 'tasks',
    selection: {},
    by: 'test',
    lines: { train: [], test: [held] },
  } as const;
  await storeDataset(store, dataset);
  const tasks = {
    train: fromStore({ from: 'desk', since: '7d', minScore: 0.5 }),
    test: fromStore({ dataset: 'held@1', part: 'test' }),
  } satisfies TrainConfig<SmallTask>['tasks'];
  const changes = { tasks, tasksPerStep: 2, store: { url } };
  const first = await trainSmall(smallTrainer(folder, changes), { runId: 'drawn' });
  expect(first.error).toBeNull();
  const { config } = await store.getRun('drawn');
  expect(config['rollouts']).toMatchObject({ 'tasks.train': expect.stringContaining('4 tasks') });
  await record('later', 1);
  await store.recordFeedback({ rolloutId: 'a5', score: 1 });
  const more = await trainSmall(smallTrainer(folder, { ...changes, steps: 2 }), { resume: 'drawn' });
  expect(more.error).toBeNull();
  // A new run has the later ones.
  const second = await trainSmall(smallTrainer(folder, changes), { runId: 'from-dataset' });
  expect(second.error).toBeNull();
  expect((await store.getRun('from-dataset')).config['rollouts']).toMatchObject({
    'tasks.train': expect.stringContaining('6 tasks'),
  });
  // A run whose traces were deleted cannot continue with others.
  await store.deleteRollouts(['a0']);
  const changed = await trainSmall(smallTrainer(folder, { ...changes, steps: 3 }), { resume: 'drawn' });
  expect(String(changed.error)).toContain('tasks.train was 4 tasks');
});

test('a training without new rollouts learns from a data set, and is refused when a line was changed', async () => {
  const chat = (index: number): { readonly messages: { readonly role: string; readonly content: string }[] } => ({
    messages: [
      { role: 'user', content: `Question ${index}?` },
      { role: 'assistant', content: 'Yes.' },
    ],
  });
  const lines = { train: [chat(1), chat(2)], test: [chat(3)] };
  await storeDataset(store, { name: 'chats', format: 'chat', selection: {}, by: 'test', lines });
  const train = (runId: string): Promise<unknown> =>
    new Trainer({
      data: fromStore({ dataset: 'chats@1' }),
      algorithm: { type: 'sft', learningRate: 0.01 },
      runtime: sharedRuntime,
      steps: 1,
      tasksPerStep: 2,
      store: { url },
      run: { dataDir: folder },
    }).fit({ runId });
  await train('taught');
  expect((await store.getRun('taught')).config['rollouts']).toMatchObject({
    'tasks.train': expect.stringContaining('2 examples'),
  });
  const [line] = (await store.queryRollouts({ runId: 'chats@1', modeIn: ['train'] })).items;
  await store.updateRollout(line?.rolloutId ?? '', { input: chat(4) });
  await expect(train('changed-dataset')).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('an unknown data set, an unknown deployment and examples instead of tasks are refused before a run begins', async () => {
  const lines = { train: [{ messages: [{ role: 'user', content: 'x' }] }], test: [] };
  await storeDataset(store, { name: 'chats', format: 'chat', selection: {}, by: 'test', lines });
  const errorOf = async (train: TrainConfig<SmallTask>['tasks']['train']): Promise<string> => {
    const tasks = { train, test: [{ index: 0, question: 'x' }] };
    return String((await trainSmall(smallTrainer(folder, { tasks, store: { url } }), { runId: 'refused' })).error);
  };
  expect(await errorOf(fromStore({ dataset: 'chats@2' }))).toContain('has no data set "chats@2"');
  expect(await errorOf(fromStore({ dataset: 'chats@1' }))).toContain('examples of the format chat, not tasks');
  expect(await errorOf(fromStore({ from: 'nowhere' }))).toContain('nowhere');
  expect(() =>
    smallTrainer(folder, { tasks: { train: fromStore({ dataset: 'chats' }), test: [{ index: 0, question: 'x' }] } }),
  ).toThrow('must be a name with a version');
  await expect(store.getRun('refused')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
