import { DatabaseSync } from 'node:sqlite';
import { modelCallToSpan } from '@agentlightning/core/spans';
import { migrateStore, openStore } from '@agentlightning/store';

/** Size of a filled store. */
export interface FillSize {
  readonly rollouts: number;
  readonly spansPerRollout: number;
}

/** The run of all rollouts of a filled store. */
export const filledRunId = 'run-00000001';

/** Tasks of a training step, and rollouts of each. */
export const tasksPerStep = 100;
export const groupSize = 8;

/** Response tokens of the longest model call, and the input of its rollout, by which it is found. */
export const longTokens = 10_000;
const longInput = 'A long text, please';

/** Rollouts of a training step. */
const perStep = tasksPerStep * groupSize;

/** Rewards that rise with the step, and differ within a group; the same for the same rollout. */
const reward = `round(min(1.0, max(0.0, i * 0.7 / total + ((i * 7919) % 1000) / 2500.0 - 0.1)), 3)`;

/**
 * Creates a store as after a training run: steps of 100 tasks with groups of 8, one in a hundred rollouts failed. Every rollout
 * has model calls with messages, and a reward. Every value follows from its number, so that all stores of a size are equal.
 */
export async function fillStore(file: string, { rollouts, spansPerRollout }: FillSize): Promise<void> {
  const store = await openStore(file);
  const steps = Math.ceil(rollouts / perStep);
  const rewardCurve = Array.from({ length: steps }, (_, index) => 0.1 + (0.7 * index) / steps);
  await store.createRun({ runId: filledRunId, name: 'benchmark', config: { steps } });
  const points = rewardCurve.map((mean, index) => ({
    runId: filledRunId,
    step: index + 1,
    timeMs: 1_760_000_000_000 + index,
    values: Object.fromEntries([
      ['reward/mean', mean],
      ...Array.from({ length: 60 }, (_, metric) => [
        `group-${metric % 6}/metric-${metric}`,
        Math.sin(index / 9 + metric),
      ]),
    ]),
  }));
  await store.updateRun(
    filledRunId,
    { status: 'finished', state: { finishedStep: steps, steps, rewardCurve } },
    points,
  );
  await store.close();
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -800000; PRAGMA foreign_keys = OFF; BEGIN',
  );
  database.exec(`${rolloutStatements(rollouts)} ${spanStatements(spansPerRollout)} COMMIT; PRAGMA journal_mode = WAL`);
  database.close();
  // Background work of an open store, finished before the measurement.
  await migrateStore(file);
  await addLongRollout(file);
}

/** Adds a rollout with one model call of {@link longTokens} response tokens. */
async function addLongRollout(file: string): Promise<void> {
  const store = await openStore(file);
  const { rolloutId, attempt } = await store.startRollout({ runId: filledRunId, input: longInput, mode: 'test' });
  const numbers = Array.from({ length: longTokens }, (_, index) => index);
  const call = {
    rolloutId,
    attemptId: attempt.attemptId,
    spanId: '00000000000000f1',
    responseId: 'chatcmpl-long',
    model: 'small',
    policyVersion: 1,
    agentName: null,
    agentPath: null,
    promptTokenIds: [1, 2, 3],
    choices: [
      {
        index: 0,
        responseTokenIds: numbers.map((index) => index % 997),
        responseLogprobs: numbers.map((index) => -((index * 7919) % 1000) / 250),
        finishReason: 'stop',
      },
    ],
    temperature: 1,
    isTrainable: true,
    untrainableReason: null,
    request: { messages: [{ role: 'user', content: longInput }] },
    response: { choices: [{ message: { role: 'assistant', content: 'word '.repeat(longTokens) } }] },
    startTimeMs: 1_760_000_000_000,
    endTimeMs: 1_760_000_000_500,
  };
  await store.appendSpans([modelCallToSpan(call, { responseTokens: numbers.map((index) => ` w${index % 997}`) })]);
  await store.updateAttempt(rolloutId, attempt.attemptId, { status: 'succeeded' });
  await store.close();
}

function rolloutStatements(rollouts: number): string {
  return `
    INSERT INTO rollouts (rollout_id, run_id, status, mode, latest_attempt_id, max_attempts, retry_condition,
      start_time_ms, end_time_ms, metadata, input)
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${rollouts} - 1)
    SELECT printf('ro-%012x', (i * 190734863281) % 281474976710656), '${filledRunId}',
      iif(i % 100 = 7, 'failed', 'succeeded'), iif(i % 50 = 0, 'val', 'train'), printf('at-%08x', i), 1, '[]',
      1760000000000 + i * 10, 1760000000000 + i * 10 + i % 997,
      json_object('phase', 'step-' || (i / ${perStep} + 1), 'step', i / ${perStep} + 1,
        'task_index', i / ${groupSize} % ${tasksPerStep}, 'sample', i % ${groupSize},
        'group_id', 'step-' || (i / ${perStep} + 1) || '/' || (i / ${groupSize} % ${tasksPerStep})),
      json_object('question', 'How many parts of number ' || (i / ${groupSize} % ${tasksPerStep}) || ' are in stock?') FROM n;
    INSERT INTO attempts (rollout_id, attempt_id, sequence_id, status, worker_id, start_time_ms, end_time_ms, reward,
      reward_sequence_id)
      SELECT rollout_id, latest_attempt_id, 1, status, 'worker-' || position % 8, start_time_ms, end_time_ms, ${reward}, 2
      FROM (SELECT *, position AS i, ${rollouts} AS total FROM rollouts) ORDER BY rollout_id;`;
}

function spanStatements(spansPerRollout: number): string {
  const rest = `"events":[],"links":[],"resource":{"attributes":{},"schemaUrl":""}`;
  return `
    INSERT INTO spans (rollout_id, attempt_id, span_id, sequence_id, trace_id, name, start_time_ms, end_time_ms, body)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${spansPerRollout})
      SELECT rollout_id, attempt_id, printf('%016x', i), i, printf('%032x', i),
        iif(i = 2, 'agentlightning.annotation', 'chat.completion'), start_time_ms, end_time_ms,
        '{"status":{"code":"OK","message":null},"attributes":' || iif(i = 2,
          json_object('agentlightning.reward.0.name', 'primary', 'agentlightning.reward.0.value', reward),
          json_object('gen_ai.request.model', 'small', 'gen_ai.response.model', 'small')) || ',${rest}}'
      FROM (SELECT * FROM attempts ORDER BY rollout_id), n;
    INSERT INTO span_counters (rollout_id, last_sequence_id)
      SELECT rollout_id, ${spansPerRollout} FROM attempts ORDER BY rollout_id;
    INSERT INTO span_marks (mark, position)
      SELECT mark, position FROM rollouts, (SELECT 'nchat.completion' AS mark UNION ALL SELECT 'nagentlightning.annotation')
      ORDER BY mark, position;
    INSERT INTO workers (worker_id, status) SELECT DISTINCT worker_id, 'idle' FROM attempts;`;
}
