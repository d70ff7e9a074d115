import { annotationSpan, feedbackToSpan, scoredOutputAttributes } from '@agentlightning/core/internal';
import { modelCallToSpan, type RolloutLabel, rewardAttributes } from '@agentlightning/core/spans';
import { aModelCall } from '@agentlightning/core/testing';
import type { SqlStore } from '@agentlightning/store';

/** What a planted agent did in a rollout. */
export interface RecordedOutput {
  readonly text: string;
  /** The primary part first. */
  readonly parts: Readonly<Record<string, number>>;
  readonly isTruncated?: boolean;
  readonly label?: RolloutLabel;
}

/** Where a rollout stands in its run. */
export interface RecordedPosition {
  /** From 1 to {@link recorded}`.steps`; 0 for the evaluation before training. */
  readonly step: number;
  /** The progress of the run, from 0 in the first step to 1 in the last. */
  readonly progress: number;
  readonly task: number;
  readonly sample: number;
  /** A number from 0 to 1 that is different in each rollout, and equal in every test run. */
  readonly draw: number;
}

/** The size of recorded runs. */
export const recorded = { steps: 8, tasks: 6, groupSize: 4 } as const;

/** The task of recorded runs. */
export const recordedTask = (task: number): { readonly question: string; readonly answer: string } => ({
  question: `Customer ${task} bought article ${task * 7} last week and asks when the parcel will arrive`,
  answer: `on day ${task}`,
});

/** Records a run whose agent behaves as planted, with evaluations before and after it. */
export async function recordRun(
  store: SqlStore,
  runId: string,
  agent: (position: RecordedPosition) => RecordedOutput,
): Promise<void> {
  await store.createRun({ runId, name: runId, config: {} });
  for (let step = 1; step <= recorded.steps; step += 1) await recordStep(store, { runId, step, mode: 'train' }, agent);
  await recordStep(store, { runId, step: 0, mode: 'test' }, agent);
  await recordStep(store, { runId, step: recorded.steps, mode: 'test' }, agent);
  await store.updateRun(runId, { status: 'finished' });
}

async function recordStep(
  store: SqlStore,
  { runId, step, mode }: { readonly runId: string; readonly step: number; readonly mode: 'train' | 'test' },
  agent: (position: RecordedPosition) => RecordedOutput,
): Promise<void> {
  for (let index = 0; index < recorded.tasks * recorded.groupSize; index += 1) {
    const [task, sample] = [Math.floor(index / recorded.groupSize), index % recorded.groupSize];
    const progress = Math.max(0, step - 1) / (recorded.steps - 1);
    const draw = ((step * 31 + index * 17 + 5) * 0.618034) % 1;
    const output = agent({ step, progress, task, sample, draw });
    const metadata = { step, sample, task_index: task, group_id: `${mode}-${step}/${task}` };
    const rolloutId = `${runId}-${mode}-${step}-${index}`;
    const { attempt } = await store.startRollout({
      rolloutId,
      runId,
      input: recordedTask(task),
      mode,
      metadata,
      workerId: 'recorder',
    });
    await store.appendSpans(spansOf({ rolloutId, attemptId: attempt.attemptId }, output));
    await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
  }
}

function spansOf(ids: { readonly rolloutId: string; readonly attemptId: string }, output: RecordedOutput) {
  const { text, parts, isTruncated = false, label } = output;
  const finishReason = isTruncated ? 'length' : 'stop';
  const response = { choices: [{ message: { role: 'assistant', content: text }, finish_reason: finishReason }] };
  const responseTokenIds = text.split(' ').map((_, index) => index + 1);
  const call = aModelCall({ ...ids, responseTokenIds, response });
  const choices = call.choices.map((choice) => ({ ...choice, finishReason }));
  const scores = Object.fromEntries(Object.entries(parts).map(([name, score]) => [name, { score, reason: null }]));
  const attributes = {
    ...rewardAttributes(Object.entries(parts).map(([name, value]) => ({ name, value }))),
    ...scoredOutputAttributes({ output: text, scores }),
  };
  const source = { ...ids, timeMs: 1_700_000_001_000 };
  return [
    modelCallToSpan({ ...call, choices }),
    annotationSpan(attributes, source),
    ...(label === undefined ? [] : [feedbackToSpan({ id: 'review', source: 'reviewer', label, ...source })]),
  ];
}
