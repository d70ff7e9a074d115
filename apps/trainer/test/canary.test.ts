import type { Store } from '@agentlightning/core';
import { type DeploymentState, type ModelVersion, readDeployment } from '@agentlightning/core/protocol';
import { modelCallToSpan, productionAttributes, rewardAttributes, spanNames } from '@agentlightning/core/spans';
import { aSpan, ManualClock } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { assessCanary, type CanaryAssessment } from '../src/deployments/assess-canary.ts';
import { emptyMemory } from '../src/deployments/canary-evidence.ts';
import { CanaryMonitor } from '../src/deployments/canary-monitor.ts';
import { promote, promoteCandidate, rollback, startCanary } from '../src/deployments/change-deployment.ts';
import { initialRunState } from '../src/run/run-state.ts';

const name = 'support-agent';
const author = { by: 'ada', reason: 'a trial' };
const log = { info: () => undefined, warn: () => undefined };
let store: Store;

beforeEach(async () => {
  store = await openStore(':memory:');
});
afterEach(async () => {
  await store.close();
});

function version(id: string, fields: Partial<ModelVersion> = {}): ModelVersion {
  return {
    version: id,
    kind: 'endpoint',
    run: null,
    step: null,
    baseModel: id,
    data: null,
    configSha256: null,
    source: { type: 'endpoint', baseUrl: 'http://127.0.0.1:1/v1', model: id, keyVariable: null },
    location: id,
    digest: null,
    prompts: null,
    reward: null,
    ...fields,
  };
}

const options = { share: 0.2, isPromotedWhenBetter: false, maxCostRatio: 2, isFallAccepted: false };

const trial = 'trial-1';

/** Starts a trial, a minute ago. */
async function startTrial(fields: Partial<ModelVersion> = {}): Promise<void> {
  await promote(store, name, { ...author, version: version('old', fields) });
  const state = await startCanary(store, name, { ...author, version: version('new', fields), options });
  const candidate = { ...state.candidate, key: trial, sinceMs: Date.now() - 60_000 };
  await store.updateRun(name, { state: JSON.parse(JSON.stringify({ kind: 'deployment', ...state, candidate })) });
}

interface TraceFields {
  readonly version: 'old' | 'new';
  readonly user?: string;
  readonly isFailed?: boolean;
  readonly seconds?: number;
  readonly score?: number;
  /** What scorers of the application found. */
  readonly parts?: Readonly<Record<string, number>>;
  /** Whether the candidate was away. */
  readonly isFallenBack?: boolean;
}

let traces = 0;
async function trace({
  version: served,
  user,
  isFailed,
  seconds = 1,
  score,
  parts,
  isFallenBack,
}: TraceFields): Promise<void> {
  traces += 1;
  const rolloutId = `trace-${traces}`;
  const endTimeMs = Date.now();
  const span = aSpan({
    rolloutId,
    attemptId: `at-${traces}`,
    startTimeMs: endTimeMs - seconds * 1000,
    endTimeMs,
    status: { code: isFailed === true ? 'ERROR' : 'OK', message: null },
    attributes: {
      [productionAttributes.version]: isFallenBack === true ? 'old' : served,
      [productionAttributes.trial]: trial,
      ...(isFallenBack === true ? { [productionAttributes.fallbackFrom]: 'new' } : {}),
      ...(user === undefined ? {} : { [productionAttributes.user]: user }),
    },
  });
  const rewards = Object.entries(parts ?? {}).map(([part, value]) => ({ name: part, value }));
  const reward = {
    ...span,
    spanId: `s-${traces}`,
    parentId: span.spanId,
    name: spanNames.annotation,
    attributes: rewardAttributes(rewards),
  };
  await store.recordTraces(name, rewards.length === 0 ? [span] : [span, reward]);
  if (score !== undefined) await store.recordFeedback({ rolloutId, score, source: 'user' });
}

/** One trace of each of `count` users. */
async function users(count: number, fields: (index: number) => TraceFields): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const given = fields(index);
    await trace({ user: `${given.version}-${index}`, ...given });
  }
}

async function assess(): Promise<CanaryAssessment | null> {
  const state = readDeployment(await store.getRun(name));
  return state === null ? null : await assessCanary(store, name, state);
}

function metricOf(assessment: CanaryAssessment | null, metric: string): object {
  return assessment?.metrics.find((each) => each.metric === metric) ?? {};
}

async function check(): Promise<DeploymentState | null> {
  const state = readDeployment(await store.getRun(name));
  if (state !== null) await new CanaryMonitor({ store, clock: new ManualClock(Date.now()), log }).check(name, state);
  return readDeployment(await store.getRun(name));
}

test('a better candidate is promoted automatically only where that was asked for', async () => {
  await startTrial();
  await users(160, (index) => ({ version: 'old', score: index % 2 }));
  await users(60, (index) => ({ version: 'new', score: index % 15 === 0 ? 0 : 1 }));
  expect(await assess()).toMatchObject({ verdict: 'better', guard: null });
  expect(await check()).toMatchObject({ live: 'old', candidate: { version: 'new' } });
  await startCanary(store, name, {
    ...author,
    version: version('new'),
    options: { ...options, isPromotedWhenBetter: true },
  });
  const after = await check();
  expect(after).toMatchObject({ live: 'new', candidate: null });
  expect(after?.history.at(-1)).toMatchObject({ action: 'promote', previous: 'old', by: 'agl serve' });
  expect(after?.history.at(-1)?.reason).toContain('the score is shown to be higher');
});

test('the parts of a reward are compared one by one, and decide nothing', async () => {
  await startTrial();
  await users(120, (index) => ({
    version: 'old',
    parts: { reward: 0.5, tone: index % 10 === 0 ? 1 : 0, facts: index % 2 },
  }));
  await users(60, (index) => ({
    version: 'new',
    parts: { reward: 0.5, tone: index % 10 === 0 ? 0 : 1, facts: index % 2 },
  }));
  const assessment = await assess();
  expect(metricOf(assessment, 'score/tone')).toMatchObject({ verdict: 'better', live: 0.1, candidate: 0.9 });
  expect(metricOf(assessment, 'score/facts')).toMatchObject({
    verdict: 'not-shown',
    liveCount: 120,
    candidateCount: 60,
  });
  expect(assessment).toMatchObject({ verdict: 'not-shown', guard: null });
  await check();
  const [point] = (await store.queryMetrics(name)).items;
  expect(point?.values).toMatchObject({ 'canary/score/tone/verdict': 1, 'canary/score/tone/candidate': 0.9 });
});

test('a candidate whose run is worse on a guard is not promoted automatically, and by a person only with a reason', async () => {
  await store.createRun({ runId: 'forgetful', name: 'forgetful', config: {} });
  const evaluation = (reward: number): object => ({
    reward,
    ci95: [reward, reward],
    rollouts: 8,
    failed: 0,
    missing: 0,
    rewards: [],
    rolloutIds: [],
    rolloutsPerTask: 1,
  });
  const ended = { ...initialRunState({ steps: 2, seed: 1, dataDir: '' }), finishedStep: 2, finalStep: 2 };
  const guard = { before: evaluation(0.9), after: evaluation(0.2), verdict: 'worse' };
  const measured = { before: evaluation(0.5), after: evaluation(0.6), verdict: 'better', guards: { refunds: guard } };
  await store.updateRun('forgetful', { state: JSON.parse(JSON.stringify({ ...ended, ...measured })) });
  await promote(store, name, { ...author, version: version('old') });
  const tried = { ...author, version: version('new', { run: 'forgetful', step: 2 }) };
  const state = await startCanary(store, name, { ...tried, options: { ...options, isPromotedWhenBetter: true } });
  const candidate = { ...state.candidate, key: trial, sinceMs: Date.now() - 60_000 };
  await store.updateRun(name, { state: JSON.parse(JSON.stringify({ kind: 'deployment', ...state, candidate })) });
  await users(160, (index) => ({ version: 'old', score: index % 2 }));
  await users(60, (index) => ({ version: 'new', score: index % 15 === 0 ? 0 : 1 }));
  expect(await assess()).toMatchObject({ verdict: 'better', guard: null });
  expect(await check()).toMatchObject({ live: 'old', candidate: { version: 'new' } });
  await expect(promoteCandidate(store, name, author)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('new is worse on the guard refunds'),
  });
  expect(await promoteCandidate(store, name, { ...author, isFallAccepted: true })).toMatchObject({ live: 'new' });
});

test('a worse candidate is rolled back, and the history says why; the curve of the verdict is recorded', async () => {
  await startTrial();
  await users(160, (index) => ({ version: 'old', score: index % 15 === 0 ? 0 : 1 }));
  await users(60, (index) => ({ version: 'new', score: index % 2 }));
  const after = await check();
  expect(after).toMatchObject({ live: 'old', candidate: null });
  expect(after?.history.at(-1)).toMatchObject({ action: 'rollback', version: 'old', previous: 'new', by: 'agl serve' });
  expect(after?.history.at(-1)?.reason).toContain('the score is shown to be lower: 0.50 of 60 users instead of 0.93');
  const { items } = await store.queryMetrics(name);
  expect(items).toMatchObject([{ values: { 'canary/share': 0.2, 'canary/score/candidate': 0.5 } }]);
  expect(items[0]?.values['canary/score/high']).toBeLessThan(0);
});

test('a candidate that is away fails, also for a single user', async () => {
  await startTrial();
  await users(30, () => ({ version: 'old' }));
  for (let call = 0; call < 19; call += 1) await trace({ version: 'new', user: 'ada', isFallenBack: true });
  expect(await assess()).toMatchObject({ guard: null });
  await trace({ version: 'new', user: 'ada', isFallenBack: true });
  const after = await check();
  expect(after).toMatchObject({ live: 'old', candidate: null });
  expect(after?.history.at(-1)?.reason).toBe('the last 20 traces of the candidate failed');
});

test('each user counts once, with the first score: a single unhappy user decides nothing', async () => {
  await startTrial();
  await users(100, (index) => ({ version: 'old', score: index % 2 }));
  for (let call = 0; call < 100; call += 1) await trace({ version: 'new', user: 'ada', score: 0 });
  const assessment = await assess();
  expect(assessment?.evidence.candidate).toMatchObject({ traces: 100, units: 1, scores: [0] });
  expect(assessment).toMatchObject({ verdict: 'not-shown', guard: null });
});

test('traces outside of the trial do not count, and clocks that differ by hours do not matter', async () => {
  await startTrial();
  await store.recordTraces(name, [
    aSpan({ rolloutId: 'elsewhere', attributes: { [productionAttributes.version]: 'old', 'user.id': 'bob' } }),
  ]);
  await trace({ version: 'old', user: 'ada', seconds: 7200 });
  const slow = Date.now() - 3 * 3_600_000;
  await store.recordFeedback({ rolloutId: `trace-${traces}`, score: 1, source: 'user', timeMs: slow });
  const early = await assess();
  expect(early?.evidence.live).toMatchObject({ traces: 1, units: 1, scores: [1] });
});

test('an assessment that reads only what is new is that of the whole trial', async () => {
  await startTrial();
  const state = readDeployment(await store.getRun(name));
  if (state === null) throw new Error('no deployment');
  const memory = emptyMemory();
  for (let round = 0; round < 3; round += 1) {
    await users(20, (index) => ({ version: 'old', user: `old-${round}-${index}`, score: index % 2 }));
    await trace({ version: 'new', user: `new-${round}`, isFailed: round === 1 });
    // Feedback on the first trace arrives in the last round.
    if (round === 2) await store.recordFeedback({ rolloutId: `trace-${traces - 42}`, score: 1, source: 'user' });
    const read = await assessCanary(store, name, state, memory);
    expect(read).toEqual(await assessCanary(store, name, state));
    expect(read?.evidence.live.units).toBe(20 * (round + 1));
  }
});

test('what cannot be known says why', async () => {
  await startTrial();
  await users(25, () => ({ version: 'old', score: 1 }));
  expect(metricOf(await assess(), 'score')).toMatchObject({
    verdict: 'unknown',
    reason: 'the candidate has no scores yet',
  });
  await trace({ version: 'new', user: 'ada', score: 3 });
  const assessment = await assess();
  expect(assessment?.verdict).toBe('unknown');
  expect(metricOf(assessment, 'score')).toMatchObject({ reason: 'a score is outside of 0 to 1: 3' });
  expect(metricOf(assessment, 'cost')).toMatchObject({ verdict: 'unknown' });
});

test('latency is compared, and is not a reason to roll back', async () => {
  await startTrial();
  await users(120, (index) => ({ version: 'old', seconds: 1 + (index % 3) / 10 }));
  await users(60, (index) => ({ version: 'new', seconds: 6 + (index % 3) / 10 }));
  const assessment = await assess();
  expect(metricOf(assessment, 'latency')).toMatchObject({ verdict: 'worse' });
  expect(assessment?.guard).toBeNull();
});

test('the cost of a trace is that of its calls at the prices of the runs, with a guard', async () => {
  const prices = { currency: 'USD', models: { old: { input: 1, output: 1 }, new: { input: 5, output: 5 } } };
  await store.createRun({ runId: 'run-1', name: 'run-1', config: { prices } });
  await startTrial({ run: 'run-1' });
  const call = async (model: 'old' | 'new', index: number): Promise<void> => {
    const ids = { rolloutId: `${model}-${index}`, attemptId: 'at', spanId: `${index}`.padStart(16, '0') };
    const nothing = { policyVersion: null, agentName: null, agentPath: null, promptTokenIds: [], choices: [] };
    const times = { startTimeMs: Date.now(), endTimeMs: Date.now() };
    const rest = { temperature: 1, isTrainable: false, untrainableReason: null, request: null, response: null };
    const usage = { inputTokens: 1000 + index, outputTokens: 100 };
    const span = modelCallToSpan({ ...ids, ...nothing, ...times, ...rest, responseId: null, model }, { usage });
    const attributes = {
      ...span.attributes,
      [productionAttributes.version]: model,
      [productionAttributes.trial]: trial,
      [productionAttributes.user]: `${model}${index}`,
    };
    await store.recordTraces(name, [{ ...span, attributes }]);
  };
  for (let index = 0; index < 150; index += 1) await call('old', index);
  for (let index = 0; index < 60; index += 1) await call('new', index);
  const assessment = await assess();
  expect(metricOf(assessment, 'cost')).toMatchObject({ verdict: 'worse', liveCount: 130, candidateCount: 60 });
  expect(assessment?.guard).toContain('the cost is shown to be more than 2 times');
});

test('of an automatic and another decision at once, one wins; wrong changes have named errors', {
  timeout: 30_000,
}, async () => {
  await expect(startCanary(store, name, { ...author, version: version('new'), options })).rejects.toMatchObject({
    code: 'CONFIG',
  });
  await startTrial();
  await expect(promote(store, name, { ...author, version: version('other') })).rejects.toThrow('has the candidate new');
  await expect(startCanary(store, name, { ...author, version: version('other'), options })).rejects.toMatchObject({
    code: 'CONFLICT',
  });
  const outcomes = await Promise.allSettled([
    promoteCandidate(store, name, { ...author, expected: 'new' }),
    rollback(store, name, { by: 'agl serve', reason: 'failures', expected: 'new' }),
  ]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'CONFLICT' } });
  await expect(rollback(store, name, { ...author, expected: 'new' })).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(promoteCandidate(store, name, author)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
