import type { JsonObject, Rollout } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { hasAttempt } from '@agentlightning/core/protocol';
import { isTerminalRolloutStatus } from '@agentlightning/core/store';
import { defaultAttemptName, type WireConfig, type WireRollout, type WireState, wireConfigSchema } from './wire.ts';

/** Metadata field of a rollout for the state of the 1.0 protocol. */
const sectionKey = 'agentlightning.agl_server';

/** The state of a rollout specific to the 1.0 protocol. */
export interface RolloutSection {
  readonly config: WireConfig;
  /** The controller's last report; applies only to attempts that controllers run. */
  readonly state: WireState;
  readonly k8sJobName: string | null;
  readonly lastAttemptName: string | null;
  readonly errorMessage: string | null;
  readonly version: number;
  readonly updateTimeMs: number;
  /** Attempts that controllers run: store ids by the controller's names. */
  readonly attempts: Readonly<Record<string, string>>;
}

/** The section of a new rollout. */
export function newSection(config: WireConfig, nowMs: number): RolloutSection {
  return {
    config,
    state: 'queuing',
    k8sJobName: null,
    lastAttemptName: null,
    errorMessage: null,
    version: 1,
    updateTimeMs: nowMs,
    attempts: {},
  };
}

/** The section of a rollout; a new one if the rollout has none. */
export function sectionOf(rollout: Rollout): RolloutSection {
  const written = rollout.metadata?.[sectionKey];
  const fresh = newSection(wireConfigSchema.parse({}), rollout.startTimeMs);
  // Safe: only `withSection` writes under this key.
  return isJsonObject(written) ? { ...fresh, ...(written as object) } : fresh;
}

/** Returns a rollout's metadata with its section replaced. */
export function withSection(metadata: JsonObject | null, section: RolloutSection): JsonObject {
  // A section consists of JSON values only.
  return { ...metadata, [sectionKey]: section as unknown as JsonObject };
}

/** The store id of the attempt with a controller's name; undefined before it exists. */
export function attemptIdOf(section: RolloutSection, name: string): string | undefined {
  return Object.hasOwn(section.attempts, name) ? section.attempts[name] : undefined;
}

/** The name of an attempt in the protocol: the controller's, or the store id when a runner created it. */
export function attemptNameOf(section: RolloutSection, attemptId: string): string {
  return Object.entries(section.attempts).find(([, id]) => id === attemptId)?.[0] ?? attemptId;
}

/** The state of a rollout in the protocol. */
export function stateOf(rollout: Rollout): WireState {
  if (rollout.status === 'succeeded') return 'succeeded';
  if (isTerminalRolloutStatus(rollout.status)) return 'failed';
  if (rollout.status === 'queuing' || rollout.status === 'requeuing') return 'queuing';
  const section = sectionOf(rollout);
  // A controller's agent may call a model before the controller reports `running`.
  const isControlled = hasAttempt(rollout) && Object.values(section.attempts).includes(rollout.attempt.attemptId);
  return isControlled ? section.state : 'running';
}

/** The name of the attempt whose events are returned. */
export function eventAttemptName(rollout: Rollout): string {
  return lastAttemptName(rollout, sectionOf(rollout)) ?? defaultAttemptName;
}

/** Converts a rollout to the wire format. */
export function rolloutToWire(rollout: Rollout): WireRollout {
  const section = sectionOf(rollout);
  const { [sectionKey]: _, ...metadata } = rollout.metadata ?? {};
  const latestMs = Math.max(rollout.startTimeMs, rollout.endTimeMs ?? 0, runnerTimeMs(rollout, section));
  const updateTimeMs = Math.max(section.updateTimeMs, latestMs);
  return {
    rollout_id: rollout.rolloutId,
    input: rollout.input,
    is_train: rollout.mode === null || rollout.mode === 'train',
    config: section.config,
    metadata: { batch_idx: null, sample_idx_in_batch: null, ...metadata },
    status: {
      state: stateOf(rollout),
      k8s_job_name: section.k8sJobName,
      last_attempt_id: lastAttemptName(rollout, section),
      error_message: section.errorMessage,
      version: section.version,
      created_at: rollout.startTimeMs / 1000,
      updated_at: updateTimeMs / 1000,
    },
  };
}

function lastAttemptName(rollout: Rollout, section: RolloutSection): string | null {
  if (section.lastAttemptName !== null || !hasAttempt(rollout)) return section.lastAttemptName;
  const name = attemptNameOf(section, rollout.attempt.attemptId);
  return name === rollout.attempt.attemptId ? name : null;
}

/** When a runner claimed it; 0 when none did. */
function runnerTimeMs(rollout: Rollout, section: RolloutSection): number {
  if (!hasAttempt(rollout) || Object.values(section.attempts).includes(rollout.attempt.attemptId)) return 0;
  return rollout.attempt.startTimeMs;
}
