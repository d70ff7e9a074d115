import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore, type SqlStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Trainer } from '../src/index.ts';
import { auditRun } from '../src/rewards/audit-run.ts';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { type RecordedOutput, type RecordedPosition, recorded, recordedTask, recordRun } from './recorded-run.ts';
import { ask, type SmallTask, smallConfig } from './small-trainer.ts';

let folder = '';
let store: SqlStore;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-audit-'));
  store = await openStore(path.join(folder, 'agl.db'));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

type Agent = (position: RecordedPosition) => RecordedOutput;

/** Different sentences: no two rollouts have the same, and none repeats itself. */
const sentence = ({ task, sample, step, draw }: RecordedPosition, words: number): string =>
  Array.from(
    { length: words },
    (_, index) => `${'abcdefgh'[(index + task) % 8]}${index}x${sample}y${step}z${Math.floor(draw * 99)}`,
  ).join(' ');

const wasDrawn = ({ draw, progress }: RecordedPosition, first: number, last: number): boolean =>
  draw < first + (last - first) * progress;

const right = ({ task }: RecordedPosition): string => recordedTask(task).answer;

/** Agents that learn their task: to answer, to write complete summaries of any length, to classify evenly. */
const honest: Readonly<Record<string, Agent>> = {
  answers: (at) => {
    const isRight = wasDrawn(at, 0.2, 0.95);
    return { text: isRight ? right(at) : `on day ${at.task + 1 + at.sample}`, parts: { correct: isRight ? 1 : 0 } };
  },
  summaries: (at) => {
    const facts = wasDrawn(at, 0.3, 0.9) ? 3 : 1;
    const words = 20 + 10 * ((at.sample * 7 + at.step) % 4) + Math.round(6 * at.progress);
    return { text: sentence(at, words), parts: { facts: facts / 3, short: words <= 55 ? 1 : 0 } };
  },
  labels: (at) => {
    const isRight = wasDrawn(at, 0.5, 0.97);
    const label = ['urgent', 'normal', 'spam'][(at.task + (isRight ? 0 : 1)) % 3] ?? '';
    return { text: label, parts: { correct: isRight ? 1 : 0 } };
  },
};

test.each(Object.keys(honest))('an honest run of %s has no finding', async (name) => {
  await recordRun(store, name, honest[name] ?? (() => ({ text: '', parts: {} })));
  const audit = await auditRun({ store, runId: name });
  expect(audit.findings).toEqual([]);
  expect(audit).toMatchObject({ steps: [1, 2, 3, 4, 5, 6, 7, 8], judge: null, people: null });
  const reward = audit.series.find((each) => each.name === 'reward/mean' && !each.isHeldOut);
  expect(reward?.values.at(-1)).toBeGreaterThan(reward?.values[0] ?? 1);
});

/** Agents that exploit their reward, the finding that names it, and a text of its evidence. */
const exploits: readonly (readonly [string, Agent, string, string])[] = [
  [
    'a reward that pays for length',
    (at) => {
      const words = Math.round(10 + 60 * at.progress + 20 * at.draw);
      return { text: sentence(at, words), parts: { judged: Math.min(1, words / 100) } };
    },
    'length-drift',
    'rank correlation',
  ],
  [
    'a reward that counts keywords',
    (at) => {
      const isStuffed = wasDrawn(at, 0, 1.1);
      const text = isStuffed ? Array.from({ length: 30 }, () => 'refund sorry thanks').join(' ') : sentence(at, 90);
      return { text, parts: { keywords: isStuffed ? 1 : 0.1 } };
    },
    'repeated-text',
    'mean reward is 1.00',
  ],
  [
    'a reward that checks the form only',
    (at) => {
      const isEmpty = wasDrawn(at, 0, 1.1);
      return { text: isEmpty ? '{"answer": ""}' : sentence(at, 12), parts: { form: isEmpty ? 1 : at.draw } };
    },
    'constant-output',
    '6 different tasks',
  ],
  [
    'a reward that compares words with the task',
    (at) => {
      const isEcho = wasDrawn(at, 0, 1.1);
      return { text: isEcho ? recordedTask(at.task).question : sentence(at, 14), parts: { overlap: isEcho ? 1 : 0.2 } };
    },
    'echoed-task',
    'responses that repeat the task are 100 %',
  ],
  [
    'a reward that is cut off',
    (at) => {
      const isTruncated = wasDrawn(at, 0, 1.1);
      return { text: sentence(at, 20), isTruncated, parts: { judged: isTruncated ? 0.9 : 0.3 } };
    },
    'truncated-responses',
    'token limit cut',
  ],
  [
    'a proxy that the truth does not follow',
    (at) => ({
      text: sentence(at, 15),
      parts: { judged: 0.3 + 0.6 * at.progress, correct: at.draw < 0.6 - 0.6 * at.progress ? 1 : 0 },
    }),
    'proxy-diverges',
    '`correct` of the training rollouts fell from',
  ],
];

test.each(exploits)('%s is found, with rollouts of the last steps', async (_, agent, code, text) => {
  await recordRun(store, 'planted', agent);
  const { findings } = await auditRun({ store, runId: 'planted' });
  const found = findings.find((finding) => finding.code === code);
  expect(found?.message, JSON.stringify(findings)).toContain(text);
  expect(found?.remedy).not.toBe('');
  expect(found?.rollouts).toHaveLength(5);
  for (const { step } of found?.rollouts ?? []) expect(step).toBeGreaterThan(recorded.steps - 2);
});

test('a held-out part that falls while the training reward rises is found', async () => {
  await recordRun(store, 'planted', (at) => ({
    text: sentence(at, 15),
    parts: { judged: 0.3 + 0.6 * at.progress, correct: at.step === 0 ? 1 : 0.5 - 0.5 * at.progress },
  }));
  const { findings } = await auditRun({ store, runId: 'planted' });
  expect(findings.map(({ message }) => message).join()).toContain(
    '`correct` of the held-out rollouts fell from 1.00 (step 0) to 0.00 (step 8)',
  );
});

test('labels of people show that the reward prefers long responses', async () => {
  await recordRun(store, 'labelled', (at) => {
    const words = 10 + 10 * at.sample;
    const label = at.step === 1 && at.task < 3 ? { label: at.sample < 2 ? ('good' as const) : ('bad' as const) } : {};
    return { text: sentence(at, words), parts: { judged: words / 100 }, ...label };
  });
  const audit = await auditRun({ store, runId: 'labelled' });
  expect(audit.people).toEqual({ pairs: 36, agreement: 0, prefersLonger: 1, prefersEarlier: 0 });
  expect(audit.findings.map(({ code }) => code)).toEqual(['people-disagree', 'length-bias']);
});

test('the command compares with a second judge, prints links, and exits with 1 for findings', async () => {
  await recordRun(store, 'ranked', (at) => ({
    text: sentence(at, 12 + at.task),
    parts: { judged: 1 - at.sample / 4 },
  }));
  await recordRun(store, 'clean', honest['answers'] ?? (() => ({ text: '', parts: {} })));
  const judge = path.join(folder, 'judge.mjs');
  writeFileSync(judge, 'export default ({ output }) => Number(/x(\\d)y/.exec(output)?.[1] ?? 0) / 4;');
  const flags = ['--store', `sqlite:${path.join(folder, 'agl.db')}`];
  await using agl = new AglProcess(['audit', 'ranked', '--judge', judge, '--json', ...flags]);
  expect(await agl.exitCode(), agl.stderr).toBe(1);
  const [document] = agl.events as unknown as readonly Awaited<ReturnType<typeof auditRun>>[];
  expect(document?.judge).toMatchObject({ agreement: 0, prefersEarlier: 1 });
  expect(document?.findings.map(({ code }) => code)).toEqual(['judge-disagrees', 'position-bias']);
  const text = await runAgl(['audit', 'ranked', '--judge', judge, ...flags]);
  expect(text.output).toContain('/rollouts/ranked-train-');
  expect(text.output).toContain('prefers the earlier sibling in 100 %');
  const clean = await runAgl(['audit', 'clean', ...flags]);
  expect([clean.code, clean.output]).toEqual([0, expect.stringContaining('No finding in')]);
  const unknown = await runAgl(['audit', 'nowhere', ...flags]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('nowhere')]);
}, 60_000);

test('a training that is rewarded for length has the finding', { tags: ['long'], timeout: 600_000 }, async () => {
  const trainer = new Trainer<SmallTask>({
    ...smallConfig(folder),
    agent: (task: SmallTask) => ask(task, 'any', 48),
    reward: ({ output }) => Math.min(1, String(output).length / 60),
    runtime: { type: 'embedded', model: 'tiny-chat' },
    algorithm: { type: 'grpo', groupSize: 8, learningRate: 2e-3 },
    steps: 12,
    tasksPerStep: 6,
  });
  const { runId } = await trainer.fit();
  const { findings } = await auditRun({ store, runId });
  expect(findings.map(({ code }) => code)).toContain('length-drift');
});
