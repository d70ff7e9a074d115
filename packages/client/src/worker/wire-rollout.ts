import type { Attempt, AttemptedRollout, Rollout } from '@agentlightning/core';
import { NotFoundError } from '@agentlightning/core';
import { hasAttempt } from '@agentlightning/core/store';
import {
  jsonOf,
  numberOf,
  optionalNumber,
  optionalObject,
  optionalText,
  optionalTimeMs,
  textOf,
  timeMsOf,
  type WireRecord,
} from '../json.ts';

/** Reads a rollout of the store protocol, with its attempt where it has one. */
export function rolloutOf(wire: WireRecord): Rollout | AttemptedRollout {
  const attempt = optionalObject(wire, 'attempt');
  const config = optionalObject(wire, 'config') ?? {};
  const retryCondition = config['retry_condition'];
  return {
    rolloutId: textOf(wire, 'rollout_id'),
    input: jsonOf(wire, 'input'),
    status: textOf(wire, 'status') as Rollout['status'],
    mode: optionalText(wire, 'mode') as Rollout['mode'],
    resourcesId: optionalText(wire, 'resources_id'),
    runId: optionalText(wire, 'run_id'),
    config: {
      timeoutMs: optionalTimeMs(config, 'timeout_seconds'),
      unresponsiveMs: optionalTimeMs(config, 'unresponsive_seconds'),
      maxAttempts: optionalNumber(config, 'max_attempts') ?? 1,
      retryCondition: (Array.isArray(retryCondition) ? retryCondition : []) as Rollout['config']['retryCondition'],
    },
    metadata: optionalObject(wire, 'metadata'),
    startTimeMs: timeMsOf(wire, 'start_time'),
    endTimeMs: optionalTimeMs(wire, 'end_time'),
    ...(attempt === null ? {} : { attempt: attemptOf(attempt) }),
  };
}

/** Reads a claimed rollout. @throws NotFoundError without an attempt */
export function attemptedRolloutOf(wire: WireRecord): AttemptedRollout {
  const rollout = rolloutOf(wire);
  if (hasAttempt(rollout)) return rollout;
  throw new NotFoundError('Attempt', `of rollout ${rollout.rolloutId}`);
}

/** Reads an attempt of the store protocol. */
export function attemptOf(wire: WireRecord): Attempt {
  return {
    rolloutId: textOf(wire, 'rollout_id'),
    attemptId: textOf(wire, 'attempt_id'),
    sequenceId: numberOf(wire, 'sequence_id'),
    status: textOf(wire, 'status') as Attempt['status'],
    workerId: optionalText(wire, 'worker_id'),
    startTimeMs: timeMsOf(wire, 'start_time'),
    endTimeMs: optionalTimeMs(wire, 'end_time'),
    lastHeartbeatTimeMs: optionalTimeMs(wire, 'last_heartbeat_time'),
    metadata: optionalObject(wire, 'metadata'),
  };
}
