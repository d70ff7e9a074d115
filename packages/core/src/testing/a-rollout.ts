import { newId, newTraceId } from '../base/id.ts';
import type { Attempt } from '../store/attempt.ts';
import { type AttemptedRollout, defaultRolloutConfig, type Rollout } from '../store/rollout.ts';
import type { RolloutContext } from '../tracing/rollout-context.ts';
import { MemorySpanSink } from './memory-span-sink.ts';

const startTimeMs = 1_700_000_000_000;

/** A queued rollout; pass only the fields relevant to the test. */
export function aRollout(fields: Partial<Rollout> = {}): Rollout {
  return {
    rolloutId: newId('rollout'),
    input: { question: 'What is 6 times 7?' },
    status: 'queuing',
    mode: 'train',
    resourcesId: null,
    runId: null,
    config: defaultRolloutConfig,
    metadata: null,
    startTimeMs,
    endTimeMs: null,
    ...fields,
  };
}

/** The first attempt of a rollout, in preparation; pass only the fields relevant to the test. */
export function anAttempt(fields: Partial<Attempt> = {}): Attempt {
  return {
    rolloutId: newId('rollout'),
    attemptId: newId('attempt'),
    sequenceId: 1,
    status: 'preparing',
    workerId: null,
    startTimeMs,
    endTimeMs: null,
    lastHeartbeatTimeMs: null,
    metadata: null,
    ...fields,
  };
}

/** A newly claimed rollout; pass only the fields relevant to the test. */
export function anAttemptedRollout(fields: Partial<AttemptedRollout> = {}): AttemptedRollout {
  const rollout = aRollout({ status: 'preparing', ...fields });
  return { ...rollout, attempt: fields.attempt ?? anAttempt({ rolloutId: rollout.rolloutId }) };
}

/** A context as a runner opens it, with a sink in memory; pass only the fields relevant to the test. */
export function aRolloutContext(fields: Partial<RolloutContext> = {}): RolloutContext {
  return {
    rolloutId: newId('rollout'),
    attemptId: newId('attempt'),
    mode: 'train',
    traceId: newTraceId(),
    parentSpanId: null,
    agentName: null,
    sink: new MemorySpanSink(),
    endpoint: null,
    signal: new AbortController().signal,
    ...fields,
  };
}
