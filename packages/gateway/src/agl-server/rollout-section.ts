import type { JsonObject, Rollout } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { hasAttempt, isTerminalRolloutStatus } from '@agentlightning/core/store';
import { defaultAttemptName, type WireConfig, type WireRollout, type WireState, wireConfigSchema } from './wire.ts';

/** The field of a rollout's metadata that holds what only the 1.0 protocol knows of it. */
export const sectionKey = 'agentlightning.agl_server';

/** What only the 1.0 protocol knows of a rollout. */
export interface RolloutSection {
  readonly config: WireConfig;
  /** What its controller last said; counts only for attempts that controllers run. */
  readonly state: WireState;
  readonly k8sJobName: string | null;
  readonly lastAttemptName: string | null;
  readonly errorMessage: string | null;
  readonly version: number;
  readonly updateTimeMs: number;
  /** Attempts that controllers run: the store's id of each, by the name that the controller has for it. */
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

/** The section of a rollout as it was written; a fresh one for a rollout that has none. */
export function sectionOf(rollout: Rollout): RolloutSection {
  const written = rollout.metadata?.[sectionKey];
  const fresh = newSection(wireConfigSchema.parse({}), rollout.startTimeMs);
  // Trusted: only `withSection` writes under this key.
  return isJsonObject(written) ? { ...fresh, ...(written as object) } : fresh;
}

/** A rollout's metadata with another section. */
export function withSection(metadata: JsonObject | null, section: RolloutSection): JsonObject {
  // A section is made of JSON values only.
  return { ...metadata, [sectionKey]: section as unknown as JsonObject };
}

/** The attempt that a controller's name stands for; undefined when it stands for none yet. */
export function attemptIdOf(section: RolloutSection, name: string): string | undefined {
  return Object.hasOwn(section.attempts, name) ? section.attempts[name] : undefined;
}

/** How the protocol calls an attempt: as its controller does, or by the store's id when a runner made it. */
export function attemptNameOf(section: RolloutSection, attemptId: string): string {
  return Object.entries(section.attempts).find(([, id]) => id === attemptId)?.[0] ?? attemptId;
}

/** Where a rollout is in its life, as the protocol has it. */
export function stateOf(rollout: Rollout): WireState {
  if (rollout.status === 'succeeded') return 'succeeded';
  if (isTerminalRolloutStatus(rollout.status)) return 'failed';
  if (rollout.status === 'queuing' || rollout.status === 'requeuing') return 'queuing';
  const section = sectionOf(rollout);
  // A controller's agent may call a model before the controller says that it runs.
  const isControlled = hasAttempt(rollout) && Object.values(section.attempts).includes(rollout.attempt.attemptId);
  return isControlled ? section.state : 'running';
}

/** The name of the attempt whose events count. */
export function eventAttemptName(rollout: Rollout): string {
  return lastAttemptName(rollout, sectionOf(rollout)) ?? defaultAttemptName;
}

/** A rollout as the protocol has it. */
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

/** When one of our own runners took it; 0 when none did. */
function runnerTimeMs(rollout: Rollout, section: RolloutSection): number {
  if (!hasAttempt(rollout) || Object.values(section.attempts).includes(rollout.attempt.attemptId)) return 0;
  return rollout.attempt.startTimeMs;
}
