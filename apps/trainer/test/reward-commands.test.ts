import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RewardInput } from '@agentlightning/core/algorithm';
import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { ask, type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

let folder = '';
let storeFlag: readonly string[] = [];
let runId = '';

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-reward-'));
  storeFlag = ['--store', `sqlite:${path.join(folder, 'agl.db')}`];
  const reward = ({ output }: RewardInput<SmallTask, string>): number => output.length / 16;
  const trainer = smallTrainer(folder, { run: { name: 'probed' }, agent: (task: SmallTask) => ask(task), reward });
  const { events, error } = await trainSmall(trainer);
  expect(error).toBe(null);
  runId = events.flatMap((event) => (event.type === 'started' ? [event.runId] : []))[0] ?? '';
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a module and returns its path. */
function moduleFile(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

const configText = (reward: string, more = ''): string =>
  `export default { ${more} agent: () => '', tasks: { train: [{ question: 'a?', answer: 'b' }, { question: 'c?', answer: 'd' }], test: [{}] }, reward: ${reward} };`;

async function probe(reward: string, flags: readonly string[] = storeFlag, more = '') {
  const config = moduleFile(`${Math.random().toString(36).slice(2)}.config.mjs`, configText(reward, more));
  await using agl = new AglProcess(['reward', 'probe', config, '--json', ...flags]);
  const exitCode = await agl.exitCode();
  const [document] = agl.events as unknown as readonly {
    readonly tasks: number;
    readonly kinds: readonly {
      readonly kind: string;
      readonly isGameable: boolean;
      readonly mean: number | null;
      readonly missing: number;
      readonly outputs: number;
    }[];
    readonly groupsWithSignal: object | null;
    readonly repeated: { readonly spread: number } | null;
    readonly step: { readonly calls: number; readonly rollouts: number } | null;
    readonly run: string | null;
  }[];
  const gameable = document?.kinds.flatMap(({ kind, isGameable }) => (isGameable ? [kind] : []));
  return { exitCode, document, gameable, stderr: agl.stderr };
}

test('a probe names the degenerate outputs that a reward of the length rewards', async () => {
  const { exitCode, gameable, document, stderr } = await probe('({ output }) => Math.min(1, output.length / 100)', [
    '--run',
    runId,
    ...storeFlag,
  ]);
  expect(exitCode, stderr).toBe(1);
  expect(gameable).toEqual(expect.arrayContaining(['repeated', 'long']));
  expect(gameable).not.toContain('empty');
  expect(document).toMatchObject({
    run: runId,
    repeated: { spread: 0 },
    groupsWithSignal: { groups: document?.tasks },
  });
}, 30_000);

test('an honest reward passes the probe, without a run', async () => {
  const { exitCode, gameable, document } = await probe(
    '{ parts: { exact: { score: ({ task, output }) => output === task.answer, range: [0, 1] } } }',
    [],
  );
  expect([exitCode, gameable]).toEqual([0, []]);
  expect(document?.groupsWithSignal).toBe(null);
}, 30_000);

test("without flags, the probe scores the outputs of the configuration's newest run, in its store", async () => {
  const more = `run: { name: 'probed', dataDir: ${JSON.stringify(folder)} },`;
  const { document, stderr } = await probe('({ output }) => output.length / 16', [], more);
  expect(document?.run, stderr).toBe(runId);
  expect(document?.kinds.map(({ kind }) => kind)).toContain("the agent's best");
}, 30_000);

test('the variance of a judge is measured without its cache, and the calls of a step are counted', async () => {
  const text = (score: number): string => JSON.stringify({ criteria: [{ name: 'right', reason: 'drawn', score }] });
  const rewards = import.meta.resolve('@agentlightning/rewards');
  await using model = await ScriptedModel.start(
    Array.from({ length: 2 * 7 + 3 * 3 }, (_, index) => respondWith(text(index % 2))),
  );
  const judge = `{ baseUrl: ${JSON.stringify(model.baseUrl)}, model: 'drawn', price: { input: 1, output: 1 } }`;
  // Seven degenerate outputs of two tasks, and three times a group of three.
  const rubric = `(await import(${JSON.stringify(rewards)})).rubric`;
  const reward = `{ parts: { judged: ${rubric}({ judge: ${judge}, criteria: { right: 'It is right.' } }) } }`;
  const { document, stderr } = await probe(reward, [], "algorithm: { type: 'grpo', groupSize: 3 }, tasksPerStep: 5,");
  expect(document?.repeated?.spread, stderr).toBe(1);
  expect(document?.step).toMatchObject({ rollouts: 15, calls: 15 });
}, 30_000);

test('a part that fails is counted as missing, and a configuration whose agent returns rewards cannot be probed', async () => {
  const { document } = await probe('() => { throw new Error("no judge"); }');
  expect(document?.kinds.every(({ mean, missing, outputs }) => mean === null && missing === outputs)).toBe(true);
  expect(document).toMatchObject({
    repeated: null,
    missingParts: { primary: expect.stringContaining('no judge') },
  });
  const { exitCode, stderr } = await probe('{ range: [0, 1] }');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('its agent returns the reward');
}, 30_000);

test('rollouts are scored again without agents, compared, and copied as a run', async () => {
  const shorter = moduleFile(
    'shorter.mjs',
    'export default { parts: { short: { score: ({ output }) => -output.length } } };',
  );
  const out = path.join(folder, 'rescored.jsonl');
  const args = ['rescore', runId, '--reward', shorter, '--copy', 'shorter', '--out', out, '--json', ...storeFlag];
  const { code, output, stderr } = await runAgl(args);
  expect(code, stderr).toBe(0);
  const report = JSON.parse(output);
  // 8 training rollouts, and 4 of each evaluation.
  expect(report).toMatchObject({ rollouts: 16, byLastResponse: 0, missing: { recorded: 0, rescored: 0 } });
  const lines = readFileSync(out, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(16);
  for (const { output: text, recorded, reward } of lines)
    expect([recorded * 16, reward]).toEqual([text.length, -text.length]);
  const lengths = new Set(lines.map(({ reward }) => reward));
  expect(report.rankCorrelation).toBeCloseTo(lengths.size > 1 ? -1 : 0);
  const store = await openStore(path.join(folder, 'agl.db'));
  const { items } = await store.queryRollouts({ runId: 'shorter' });
  await store.close();
  expect(items.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 'succeeded'));
  const dataset = await runAgl(['dataset', '--run', 'shorter', '--format', 'chat', '--best', '1', ...storeFlag]);
  expect(dataset.output.trim().split('\n').length).toBeGreaterThan(0);
  const again = await runAgl(args);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('shorter')]);
}, 30_000);

test('a module without a reward, an unknown run and an unknown mode are errors, and an interrupted copy has failed', async () => {
  const none = moduleFile('none.mjs', 'export default { range: [0, 1] };');
  expect((await runAgl(['rescore', runId, '--reward', none, ...storeFlag])).stderr).toContain(
    'has no part with `score`',
  );
  const one = moduleFile('one.mjs', 'export default () => 1;');
  expect((await runAgl(['rescore', 'nowhere', '--reward', one, ...storeFlag])).stderr).toContain('nowhere');
  const mode = await runAgl(['rescore', runId, '--reward', one, '--mode', 'training', ...storeFlag]);
  expect([mode.code, mode.stderr]).toEqual([2, expect.stringContaining('Allowed choices are train, val, test')]);
  const out = path.join(folder, 'no-folder', 'rescored.jsonl');
  const interrupted = await runAgl([
    'rescore',
    runId,
    '--reward',
    one,
    '--copy',
    'partial',
    '--out',
    out,
    ...storeFlag,
  ]);
  expect(interrupted.code).not.toBe(0);
  const store = await openStore(path.join(folder, 'agl.db'));
  expect(await store.getRun('partial')).toMatchObject({ status: 'failed' });
  expect(await store.getRun('shorter')).toMatchObject({ status: 'finished' });
  await store.close();
}, 30_000);
