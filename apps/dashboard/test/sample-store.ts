import { AgentLightningError, type JsonObject, type JsonValue } from '@agentlightning/core';
import { genAiAttributes, scoredOutputAttributes, trainingToSpan } from '@agentlightning/core/internal';
import { failureMetadata } from '@agentlightning/core/protocol';
import { agentLightningAttributes, modelCallToSpan, spanNames } from '@agentlightning/core/spans';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { aModelCall, aRewardSpan, aSpan } from '@agentlightning/core/testing';
import type { SqlStore } from '@agentlightning/store';
import type { DashboardOptions, Replayer } from '../src/index.ts';

/** Texts of a sample run; a test can replace all of them by hostile ones. */
export interface SampleTexts {
  readonly name: string;
  readonly task: string;
  readonly system: string;
  readonly toolArguments: string;
  readonly toolResult: string;
  readonly answer: string;
  readonly failure: string;
  readonly worker: string;
  readonly warning: string;
}

/** Harmless texts. */
export const sampleTexts: SampleTexts = {
  name: 'stock-clerk',
  task: 'How many U2 are in stock?',
  system: 'You are a stock clerk.',
  toolArguments: '{"part":"U2"}',
  toolResult: '45',
  answer: 'There are 45.',
  failure: 'The agent threw: no such part',
  worker: 'worker-1',
  warning: 'all groups of the last 3 steps have constant rewards',
};

/** A replayer whose model always responds with a text. */
export function sampleReplayer(content: string): Replayer {
  const choices = [{ message: { role: 'assistant', content }, finish_reason: 'stop' }];
  return { models: async () => [{ id: 'final', label: content }], complete: async () => ({ choices }) };
}

/** An auditor whose findings and notes have a text. */
export function sampleAuditor(text: string): NonNullable<DashboardOptions['auditor']> {
  const series = { name: text, isHeldOut: false, steps: [1, 3], values: [0.25, null] };
  return async (runId) => ({
    runId,
    steps: series.steps,
    rollouts: 24,
    series: [series, { ...series, isHeldOut: true }],
    findings: [
      {
        code: 'length-drift',
        message: text,
        evidence: { correlation: 0.75 },
        remedy: text,
        rollouts: [{ rolloutId: 'ro-3-1-2', step: 3, reward: 1 }],
      },
    ],
    judge: { pairs: 12, agreement: 0.5, prefersLonger: 1, prefersEarlier: null },
    people: null,
    notes: [text],
  });
}

/** The run of {@link fillStore}. */
export const sampleRunId = 'run-sample';

/** Steps, tasks and group size of the sample run. */
export const sample = { steps: 3, tasks: 4, groupSize: 3 } as const;

/**
 * Fills a store with a finished run: {@link sample} training rollouts with traces and rewards from 0 to 1, one of each
 * step failed.
 *
 * @returns the ids of the training rollouts, in order of step, task and sample
 */
export async function fillStore(store: SqlStore, texts: SampleTexts = sampleTexts): Promise<readonly string[]> {
  await store.createRun({ runId: sampleRunId, name: texts.name, config: { ...sampleConfig, note: texts.system } });
  await addWorkers(store, texts);
  const rolloutIds: string[] = [];
  for (let step = 1; step <= sample.steps; step += 1) {
    const claimed = await claimStep(store, step, texts);
    rolloutIds.push(...claimed.map(({ rolloutId }) => rolloutId));
    for (const rollout of claimed) await finish(store, rollout, texts);
    const values = { 'reward/mean': step / 4, 'policy/entropy': 1 / step, 'tokens/trained': 100 };
    const parts = { 'reward/accuracy/mean': step / 4, 'reward/brevity/mean': 0.5 };
    const failures = { 'failures/agent_error': 1, 'failures/timeout': 0, 'time/collect_s': 2, 'time/step_s': 3 };
    const points = [
      { runId: sampleRunId, step, timeMs: 1_700_000_000_000 + step, values: { ...values, ...parts, ...failures } },
    ];
    await store.updateRun(sampleRunId, {}, points);
  }
  await store.updateRun(sampleRunId, { status: 'finished', state: finalState(texts) });
  return rolloutIds;
}

const sampleConfig: JsonObject = {
  prices: { currency: 'EUR', models: { tiny: { input: 1000, output: 2000 } }, runtimePerHour: 3.6 },
  steps: sample.steps,
  algorithm: { type: 'grpo', rewardWeights: { accuracy: 1, brevity: 0.2 } },
};

/** A runner, a gateway with an upstream that is down, and a worker of another program. */
async function addWorkers(store: SqlStore, texts: SampleTexts): Promise<void> {
  const process = { version: texts.answer, host: texts.answer, pid: 7, lease_ms: 600_000 };
  const load = { state: 'running', running: 3, concurrency: 8, processes: 2, memory_rss_bytes: 2.5e8 };
  await store.updateWorker('runner-1', { ...process, ...load, kind: 'runner', run_id: null });
  const upstream = { id: texts.answer, model: texts.answer, up: false, in_flight: 3, queued: 2, token_ids: 'given' };
  await store.updateWorker('gateway-1', {
    ...process,
    kind: 'gateway',
    run_id: sampleRunId,
    url: texts.answer,
    in_flight: 5,
    is_paused: false,
    upstreams: [{ ...upstream, last_failure: texts.failure }],
  });
  await store.updateWorker(texts.worker, { note: texts.answer });
  await store.updateWorker('trainer-ended', { host: 'vm', is_released: true });
}

function finalState(texts: SampleTexts): JsonObject {
  const measured = (reward: number): JsonObject => ({
    reward,
    ci95: [reward - 0.1, reward + 0.1],
    rollouts: 10,
    failed: 0,
    missing: 0,
  });
  return {
    effort: { seconds: 3 * sample.steps, trainingTokens: 0 },
    finishedStep: sample.steps,
    verdict: 'better',
    steps: sample.steps,
    before: measured(0.2),
    after: measured(0.8),
    evaluations: [{ step: 2, summary: measured(0.5) }],
    publications: [1, 2].map((step) => ({
      step,
      policy: null,
      version: step,
      timeMs: 1_700_000_000_000 + step * 1000,
      durationMs: 250,
      digest: `sha256:${texts.answer}`,
      probe: step === 1 ? null : { gap: 0.002, limit: 0.05, tokens: 128 },
    })),
    rewardCurve: [0.25, 0.5, 0.75],
    warnings: [{ name: 'constant-groups', step: 2, policy: null, message: texts.warning }],
  };
}

async function claimStep(store: SqlStore, step: number, texts: SampleTexts): Promise<readonly AttemptedRollout[]> {
  const requests = Array.from({ length: sample.tasks * sample.groupSize }, (_, index) => {
    const task = Math.floor(index / sample.groupSize);
    const input: JsonValue = { question: texts.task, number: task };
    const group_id = `step-${step}/${task}`;
    const metadata = { phase: `step-${step}`, step, task_index: task, sample: index % sample.groupSize, group_id };
    return { rolloutId: `ro-${step}-${task}-${index % sample.groupSize}`, input, metadata, mode: 'train' as const };
  });
  await store.enqueueRollouts(requests.map((request) => ({ ...request, runId: sampleRunId })));
  return await store.claimRollouts({ workerId: texts.worker, limit: requests.length });
}

/** The rollout whose output a configured reward has scored. */
export const scoredRollout = 'ro-3-2-1';

const scored = {
  output: { facts: 2 },
  scores: { accuracy: { score: 0.5, reason: 'two of four facts' }, brevity: { score: null, reason: 'no verdict' } },
};

async function finish(store: SqlStore, rollout: AttemptedRollout, texts: SampleTexts): Promise<void> {
  const { rolloutId, attempt } = rollout;
  const ids = { rolloutId, attemptId: attempt.attemptId };
  const position = Number(rollout.metadata?.['sample']);
  const hasFailed = rollout.metadata?.['task_index'] === 0 && position === 0;
  await store.appendSpans(attemptSpans(ids, texts).map(({ sequenceId: _assigned, ...span }) => span));
  if (hasFailed) {
    const error = new AgentLightningError({ code: 'AGENT_FAILED', message: texts.failure });
    const metadata = failureMetadata(attempt, error);
    await store.updateAttempt(rolloutId, ids.attemptId, { status: 'failed', metadata });
    return;
  }
  const { sequenceId: _assigned, ...reward } = aRewardSpan(position / (sample.groupSize - 1), ids);
  const attributes = { ...reward.attributes, ...(rolloutId === scoredRollout ? scoredOutputAttributes(scored) : {}) };
  await store.appendSpans([
    { ...reward, attributes },
    trainingSpan(ids, Number(rollout.metadata?.['step']), position - 1),
  ]);
  await store.updateAttempt(rolloutId, ids.attemptId, { status: 'succeeded' });
}

/** The first call is not trained on, or has an advantage for each token; the second one has one for all. */
function trainingSpan(
  ids: { readonly rolloutId: string; readonly attemptId: string },
  step: number,
  advantage: number,
) {
  const untrained = { tokenAdvantages: null, trainerLogprobs: null };
  const first = { sequenceId: 2, ...untrained, advantage: null, exclusion: 'stale' as const };
  const byToken = {
    sequenceId: 2,
    tokenAdvantages: [-0.5, 0, 1.5],
    trainerLogprobs: null,
    advantage: 1 / 3,
    exclusion: null,
  };
  const trainerLogprobs = [-0.1, -0.7, -3];
  const second = { sequenceId: 4, tokenAdvantages: null, trainerLogprobs, advantage, exclusion: null };
  const training = { ...ids, step, policy: null, calls: [advantage === 0 ? byToken : first, second] };
  const fields = { spanId: '00000000000000c1', traceId: '1'.padStart(32, '0'), endTimeMs: 1_700_000_000_950 };
  return trainingToSpan(training, fields);
}

function attemptSpans(ids: { readonly rolloutId: string; readonly attemptId: string }, texts: SampleTexts) {
  const root = aSpan({ ...ids, name: spanNames.rollout, spanId: '00000000000000a1', endTimeMs: 1_700_000_000_900 });
  const toolCall = { id: 'call-1', type: 'function', function: { name: 'count', arguments: texts.toolArguments } };
  const question = [
    { role: 'system', content: texts.system },
    { role: 'user', content: texts.task },
  ];
  const first = { messages: question };
  const calling = { choices: [{ message: { role: 'assistant', content: null, tool_calls: [toolCall] } }] };
  const reply = [
    calling.choices[0]?.message ?? {},
    { role: 'tool', tool_call_id: 'call-1', content: texts.toolResult },
  ];
  const second = { messages: [...question, ...reply] };
  const answering = { choices: [{ message: { role: 'assistant', content: texts.answer } }] };
  const tool = aSpan({
    ...ids,
    name: 'tool',
    spanId: '00000000000000b1',
    parentId: root.spanId,
    attributes: {
      [agentLightningAttributes.stepKind]: 'tool-call',
      [genAiAttributes.toolName]: texts.answer,
      [genAiAttributes.toolCallArguments]: texts.toolArguments,
      [genAiAttributes.toolCallResult]: texts.toolResult,
    },
    startTimeMs: 1_700_000_000_300,
    endTimeMs: 1_700_000_000_400,
  });
  return [
    root,
    callSpan(ids, { number: 1, request: first, response: calling, parentId: root.spanId }, texts),
    tool,
    callSpan(ids, { number: 2, request: second, response: answering, parentId: root.spanId }, texts),
  ];
}

function callSpan(
  ids: { readonly rolloutId: string; readonly attemptId: string },
  call: { readonly number: number; readonly request: object; readonly response: object; readonly parentId: string },
  texts: SampleTexts,
) {
  const { number, request, response, parentId } = call;
  const input = aModelCall({
    ...ids,
    sequenceId: number,
    responseTokenIds: [4, 5, 6],
    request: JSON.parse(JSON.stringify(request)) as JsonObject,
    response: JSON.parse(JSON.stringify(response)) as JsonObject,
    startTimeMs: 1_700_000_000_000 + number * 200,
    endTimeMs: 1_700_000_000_100 + number * 200,
  });
  return {
    ...modelCallToSpan(input, { parentId, responseTokens: ['There', ' are', texts.answer] }),
    sequenceId: number,
  };
}
