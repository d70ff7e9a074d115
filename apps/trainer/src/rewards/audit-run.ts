import type { Rollout, Run, Store } from '@agentlightning/core';
import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import type { AuditFinding, AuditSeries, RunAudit } from '@agentlightning/core/protocol';
import { mean } from '../events/mean.ts';
import { type FinishedRollout, readFinishedRollouts } from '../results/finished-rollout.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import { agreementFindings, agreementOf, pairsByJudge, pairsByPeople } from './audit-agreement.ts';
import {
  driftFindings,
  duplicateShare,
  fallingParts,
  finding,
  groupsOf,
  highest,
  meanOf,
  meanReward,
  shareOf,
  stepsText,
  windowsOf,
} from './audit-findings.ts';
import { type AuditSample, auditSample } from './audit-sample.ts';
import { recordedChoice } from './rescore-run.ts';
import { type ComputedReward, scoreSiblings, storedOutput } from './score-outputs.ts';

/** Options of {@link auditRun}. */
export interface AuditOptions {
  readonly store: Store;
  readonly runId: string;
  /** A second judge, which scores the measured training rollouts. @default none */
  readonly judge?: ComputedReward | null;
  /** @default never aborted */
  readonly signal?: AbortSignal;
}

/** Steps and evaluations that are read, spread over the run, and rollouts of each. */
const limits = { steps: 12, rollouts: 64 };

/**
 * Audits the reward of a run by its record and its stored rollouts. It measures the run as it was: nothing here predicts a run
 * that is not over.
 *
 * @throws AgentLightningError NOT_FOUND without the run; the reason of the signal
 */
export async function auditRun({
  store,
  runId,
  judge = null,
  signal = new AbortController().signal,
}: AuditOptions): Promise<RunAudit> {
  const run = await store.getRun(runId);
  const samples = await readSamples(store, run);
  const train = samples.filter(({ finished }) => finished.rollout.mode === 'train');
  const windows = windowsOf(train);
  // The evaluations of one list of tasks: before and after a training, or of the validation tasks during it.
  const [heldOut = []] = (['test', 'val'] as const)
    .map((mode) => samples.filter(({ finished }) => finished.rollout.mode === mode))
    .toSorted((one, other) => stepsOf(other).length - stepsOf(one).length);
  const penalised = penalisedParts(run);
  const people = pairsByPeople([...samples, ...(await readLabelled(store, run, samples))]);
  const judged = judge === null ? null : pairsByJudge(train, await judgeScores(train, judge, signal));
  const measured = windowsOf(heldOut);
  const findings = [
    ...(windows === null ? [] : driftFindings(windows, penalised)),
    ...(windows === null || measured === null ? [] : fallingParts(windows, { penalised, isHeldOut: true, measured })),
    ...(windows === null || measured === null ? [] : heldOutFall(windows, measured)),
    ...(judged === null ? [] : agreementFindings(judged, 'judge')),
    ...agreementFindings(people, 'people'),
  ];
  return {
    runId,
    steps: stepsOf(train),
    rollouts: samples.length,
    series: [...seriesOf(train, false), ...seriesOf(heldOut, true)],
    findings,
    judge: judged === null ? null : agreementOf(judged),
    people: people.length === 0 ? null : agreementOf(people),
    notes: [
      ...(windows === null
        ? ['Drift is not measured: it needs two training steps or more, with eight rollouts or more.']
        : []),
      ...(measured === null
        ? ['The held-out reward is not compared: it needs evaluations of two checkpoints or more.']
        : []),
      ...(judge === null ? ['No second judge: `agl audit <run> --judge <module>` compares the reward with one.'] : []),
      ...(people.length === 0 ? ['No labels of people: label good and bad rollouts in the dashboard.'] : []),
    ],
  };
}

/** The training and held-out rollouts of steps that are spread over the run, in whole groups. */
async function readSamples(store: Store, run: Run): Promise<readonly AuditSample[]> {
  const { items } = await store.queryRollouts({ runId: run.runId, statusIn: ['succeeded', 'failed'] });
  const chosen = (['train', 'test', 'val'] as const).flatMap((kind) => {
    const bySteps = Map.groupBy(
      items.filter(({ mode }) => mode === kind),
      stepOf,
    );
    const steps = [...bySteps.keys()].toSorted((one, other) => one - other);
    return spread(steps, limits.steps).flatMap((step) => wholeGroups(bySteps.get(step) ?? []));
  });
  return await samplesOf(store, run, chosen);
}

async function samplesOf(store: Store, run: Run, rollouts: readonly Rollout[]): Promise<readonly AuditSample[]> {
  const finished = await readFinishedRollouts(store, rollouts);
  const choice = recordedChoice(run.config);
  return groupRollouts(finished).flatMap(
    ({ groupId, rollouts: members }: { readonly groupId: string; readonly rollouts: readonly FinishedRollout[] }) =>
      members.flatMap((member) => {
        const counts = member.failure === null || member.failure === 'agent';
        return counts ? [auditSample(member, groupId, choice)] : [];
      }),
  );
}

/** The rollouts with a label of a person that were not read yet. */
async function readLabelled(store: Store, run: Run, known: readonly AuditSample[]): Promise<readonly AuditSample[]> {
  const ids = new Set(known.map(({ rolloutId }) => rolloutId));
  const { items } = await store.searchRollouts({ runId: run.runId, label: 'any', limit: 500 });
  const labelled = items.flatMap(({ rollout }) => (ids.has(rollout.rolloutId) ? [] : [rollout]));
  return labelled.length === 0 ? [] : await samplesOf(store, run, labelled);
}

async function judgeScores(
  samples: readonly AuditSample[],
  judge: ComputedReward,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | null>> {
  const scores = new Map<string, number | null>();
  for (const group of groupsOf(samples)) {
    signal.throwIfAborted();
    const inputs = group.map(({ finished: { rollout, spans } }) => ({
      task: rollout.input,
      output: storedOutput(spans).output,
      rolloutId: rollout.rolloutId,
      mode: rollout.mode,
      spans: async () => spans,
      signal,
    }));
    const scored = await scoreSiblings(judge, inputs);
    for (const [index, { rolloutId }] of group.entries()) scores.set(rolloutId, scored[index]?.reward ?? null);
  }
  return scores;
}

/** The held-out reward fell while the training reward rose. */
function heldOutFall(
  train: { readonly first: readonly AuditSample[]; readonly last: readonly AuditSample[] },
  heldOut: { readonly first: readonly AuditSample[]; readonly last: readonly AuditSample[] },
): readonly AuditFinding[] {
  const [trainBefore, trainAfter] = [meanReward(train.first) ?? 0, meanReward(train.last) ?? 0];
  const [before, after] = [meanReward(heldOut.first), meanReward(heldOut.last)];
  if (before === null || after === null || trainAfter <= trainBefore || after >= before) return [];
  const rewards = [...heldOut.first, ...heldOut.last].flatMap(({ reward }) => reward ?? []);
  const range = Math.max(...rewards) - Math.min(...rewards);
  if (before - after <= 0.1 * range) return [];
  return [
    finding('held-out-reward-falls', highest(train.last), {
      message:
        `the held-out reward fell from ${before.toFixed(2)} (${stepsText(heldOut.first)}) to ${after.toFixed(2)} ` +
        `(${stepsText(heldOut.last)}), while the training reward rose from ${trainBefore.toFixed(2)} to ${trainAfter.toFixed(2)}`,
      evidence: { heldOutBefore: before, heldOutAfter: after, trainBefore, trainAfter },
    }),
  ];
}

/** The measures of each step: names of the catalogue of metrics, where it has them. */
function seriesOf(samples: readonly AuditSample[], isHeldOut: boolean): readonly AuditSeries[] {
  const steps = stepsOf(samples);
  if (steps.length === 0) return [];
  const parts = [...new Set(samples.flatMap((sample) => Object.keys(sample.parts)))];
  const measures: readonly (readonly [string, (step: readonly AuditSample[]) => number | null])[] = [
    [runMetrics.rewardMean.name, meanReward],
    ...(parts.length < 2 ? [] : parts).map(
      (part) =>
        [
          familyMetric(runMetrics.rewardPartMean, part),
          (step: readonly AuditSample[]) => mean(step.flatMap((sample) => sample.parts[part] ?? [])),
        ] as const,
    ),
    [runMetrics.responseTokensMean.name, (step) => meanOf(step, ({ length }) => length)],
    [runMetrics.responseTruncatedShare.name, (step) => shareOf(step, ({ isTruncated }) => isTruncated)],
    ['format failures', (step) => shareOf(step, ({ isFailed }) => isFailed)],
    ['repeated words', (step) => meanOf(step, ({ repetition }) => repetition)],
    ['echo of the task', (step) => meanOf(step, ({ echo }) => echo)],
    ['duplicates among siblings', duplicateShare],
  ];
  return measures.map(([name, measure]) => ({
    name,
    isHeldOut,
    steps,
    values: steps.map((step) => measure(samples.filter((sample) => sample.step === step))),
  }));
}

function penalisedParts({ config }: Run): ReadonlySet<string> {
  const weights = Object.entries(recordedChoice(config).rewardWeights ?? {});
  return new Set(weights.flatMap(([part, weight]) => (weight < 0 ? [part] : [])));
}

function stepsOf(samples: readonly AuditSample[]): readonly number[] {
  return [...new Set(samples.map(({ step }) => step))].toSorted((one, other) => one - other);
}

function stepOf({ metadata }: Rollout): number {
  const step = metadata?.['step'];
  return typeof step === 'number' ? step : 0;
}

/** At most `count` of some values, with the first and the last. */
function spread<TValue>(values: readonly TValue[], count: number): readonly TValue[] {
  if (values.length <= count) return values;
  return Array.from(
    { length: count },
    (_, index) => values[Math.round((index * (values.length - 1)) / (count - 1))],
  ).filter((value) => value !== undefined);
}

/** Rollouts up to the limit, without cutting a group; the first group in any case. */
function wholeGroups(rollouts: readonly Rollout[]): readonly Rollout[] {
  const chosen: Rollout[] = [];
  for (const group of groupRollouts(rollouts.map((rollout) => ({ rollout, attemptId: null, spans: [] })))) {
    if (chosen.length > 0 && chosen.length + group.rollouts.length > limits.rollouts) break;
    chosen.push(...group.rollouts.map(({ rollout }) => rollout));
  }
  return chosen;
}
