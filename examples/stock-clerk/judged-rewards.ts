/**
 * Trains the stock clerk by its true reward, by a judge with wrong verdicts, and by a ranking of siblings, and appends the results
 * to `docs/reports/judged-rewards`: `node judged-rewards.ts judge 1` trains by one reward and seed, `node judged-rewards.ts` by
 * all, and writes the tables of the report.
 *
 * The judges are scripted: an endpoint on this machine that computes the truth. What is measured is training by the verdicts of
 * `rubric` and `ruler`, not the quality of a model as a judge.
 *
 * @module
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RewardInput, RewardPart } from '@agentlightning/core/algorithm';
import { createJudge, type Judge, rewards, rubric, ruler } from '@agentlightning/rewards';
import { openStore } from '@agentlightning/store';
import { type ConfiguredReward, Trainer } from '@agentlightning/trainer';
import { z } from 'zod';
import { answerQuestion, type StockTask } from './agent.ts';
import config from './agl.config.ts';
import { criteriaMet, ScriptedJudge, type StockOutput, truth } from './scripted-judge.ts';

/** The report, with tables between comments. */
export const reportFile: string = path.join(import.meta.dirname, '../../docs/reports/judged-rewards/README.md');
const resultFile = path.join(path.dirname(reportFile), 'results.jsonl');

/** The share of wrong verdicts of the judge. */
const wrongShare = 0.1;

const conditions = ['truth', 'judge', 'criteria', 'ruler'] as const;
const seeds = [1, 2, 3] as const;
const steps = 10;

const resultSchema = z.object({
  reward: z.enum(conditions),
  seed: z.int(),
  /** The mean of the true reward over the held-out questions, and the share of right answers after the training. */
  before: z.number(),
  after: z.number(),
  right: z.number(),
  rollouts: z.int(),
  judgeCalls: z.int(),
  seconds: z.number(),
});

type Result = z.infer<typeof resultSchema>;

type Condition = Result['reward'];

/** What is recorded beside the reward that trains. */
const measures: Readonly<Record<'true' | 'right', RewardPart<StockTask, StockOutput>>> = {
  true: { score: ({ task, output }) => truth(task, output), weight: 0, range: [0, 1] },
  right: { score: ({ task, output }) => output.answer?.trim() === task.answer, weight: 0, range: [0, 1] },
};

function rewardOf(condition: Condition, judge: Judge): ConfiguredReward<StockTask, StockOutput> {
  const names = Object.keys(
    criteriaMet({ question: '', shelf: {}, route: [], answer: '' }, { lookedUp: [], answer: null }),
  );
  const graded = rubric<StockTask, StockOutput>({
    judge,
    criteria: Object.fromEntries(names.map((name) => [name, name])),
  });
  const trained: Readonly<Record<Condition, RewardPart<StockTask, StockOutput>>> = {
    truth: { score: ({ task, output }: RewardInput<StockTask, StockOutput>) => truth(task, output), range: [0, 1] },
    judge: graded,
    criteria: graded,
    ruler: ruler<StockTask, StockOutput>({ judge }),
  };
  return rewards<StockTask, StockOutput>({ trained: trained[condition], ...measures });
}

async function agent(task: StockTask): Promise<StockOutput> {
  const lookedUp: unknown[] = [];
  const answer = await answerQuestion(task, (part) => lookedUp.push(part));
  return { lookedUp, answer };
}

/** Trains by a reward, and measures the true reward before and after. */
async function train(condition: Condition, seed: number): Promise<Result> {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-judged-'));
  await using scripted = await ScriptedJudge.start({
    wrongShare: condition === 'ruler' ? 0 : wrongShare,
    unit: condition === 'criteria' ? 'criterion' : 'verdict',
    seed,
  });
  const judge = createJudge({ baseUrl: scripted.baseUrl, model: 'scripted', concurrency: 64 });
  const { algorithm } = config;
  if (typeof algorithm !== 'object' || algorithm.type !== 'grpo') throw new Error('the example is trained by grpo');
  try {
    const startMs = Date.now();
    const summary = await new Trainer<StockTask>({
      ...config,
      agent,
      reward: rewardOf(condition, judge),
      // A judge scores whole rollouts.
      algorithm: { ...algorithm, creditAssignment: { type: 'terminal' } },
      tasks: { train: taskFile('train'), test: taskFile('test') },
      evaluation: { tasks: 128 },
      run: { dataDir: folder, seed },
      steps,
    }).fit();
    const seconds = (Date.now() - startMs) / 1000;
    const store = await openStore(path.join(folder, 'agl.db'));
    const { state } = await store.getRun(summary.runId);
    await store.close();
    const [before, after] = [meanOf(state['before'], 'true'), meanOf(state['after'], 'true')];
    const right = meanOf(state['after'], 'right');
    return { reward: condition, seed, before, after, right, rollouts: 128, judgeCalls: scripted.calls, seconds };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const taskFile = (name: string): string => path.join(import.meta.dirname, `tasks/${name}.jsonl`);

const measured = z.object({ parts: z.record(z.string(), z.array(z.number().nullable())) });

/** The mean of a part of an evaluation; a failed rollout counts 0. */
function meanOf(evaluation: unknown, part: keyof typeof measures): number {
  const values = measured.parse(evaluation).parts[part] ?? [];
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / values.length;
}

function readResults(): readonly Result[] {
  const lines = readFileSync(resultFile, 'utf8').trim().split('\n');
  return lines.map((line) => resultSchema.parse(JSON.parse(line)));
}

const start = '<!-- Generated by `node judged-rewards.ts`. -->\n';
const end = '<!-- End of generated content. -->\n';

const gainOf = ({ before, after }: Result): number => after - before;

/** The mean gain by a reward, and that by the truth with the same seeds. */
function gainsOf(results: readonly Result[], condition: Condition): readonly [own: number, truth: number] {
  const own = results.filter(({ reward }) => reward === condition);
  const same = results.filter(({ reward, seed }) => reward === 'truth' && own.some((each) => each.seed === seed));
  const [gain = 0, reference = 0] = [own, same].map(
    (group) => group.map(gainOf).reduce((sum, each) => sum + each, 0) / group.length,
  );
  return [gain, reference];
}

/** The report with the tables of the current results. */
export function withResults(report: string): string {
  const results = readResults();
  const rows = conditions.flatMap((condition) =>
    results
      .filter(({ reward }) => reward === condition)
      .toSorted((one, other) => one.seed - other.seed)
      .map(({ seed, before, after, right, judgeCalls, seconds }) =>
        [
          condition,
          seed,
          before.toFixed(2),
          after.toFixed(2),
          right.toFixed(2),
          judgeCalls,
          `${seconds.toFixed(0)} s`,
        ].join(' | '),
      ),
  );
  const shares = conditions.map((condition) => {
    const [gain, reference] = gainsOf(results, condition);
    const count = results.filter(({ reward }) => reward === condition).length;
    return `| ${condition} | ${count} | ${gain.toFixed(2)} | ${Math.round((100 * gain) / reference)} % |`;
  });
  const table = [
    '| Reward | Seed | true reward before | after | right answers after | calls of the judge | duration |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
    '',
    '| Reward | seeds | mean gain | share of the gain by the truth, same seeds |',
    '|---|---|---|---|',
    ...shares,
  ].join('\n');
  const [head = '', rest = ''] = report.split(start);
  return `${head}${start}\n${table}\n\n${end}${rest.split(end)[1] ?? ''}`;
}

if (import.meta.main) {
  const [condition, seed] = process.argv.slice(2);
  const chosen = conditions.filter((each) => condition === undefined || each === condition);
  for (const number of seeds.filter((each) => seed === undefined || each === Number(seed))) {
    for (const each of chosen) appendFileSync(resultFile, `${JSON.stringify(await train(each, number))}\n`);
  }
  writeFileSync(reportFile, withResults(readFileSync(reportFile, 'utf8')));
}
