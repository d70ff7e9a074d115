import { createHash } from 'node:crypto';
import { AgentLightningError, type SpanInput } from '@agentlightning/core';
import type { AttemptTraining, CollectedRollout } from '@agentlightning/core/algorithm';
import { type RecordedTraining, trainingToSpan } from '@agentlightning/core/internal';
import type { TrainingSession } from '../session/training-session.ts';
import type { PolicyStep } from './step-outcome.ts';

/** The recorded parts of a policy's step. */
interface PlannedStep {
  readonly policy: Pick<PolicyStep['policy'], 'name'>;
  readonly plan: Pick<PolicyStep['plan'], 'attempts'>;
}

/** The used parts of a session. */
interface RecordingSession extends Pick<TrainingSession, 'emit'> {
  readonly store: Pick<TrainingSession['store'], 'appendSpans'>;
}

/**
 * Records with each attempt how the step trained on its model calls: one span per attempt and policy. The ids of the spans
 * follow from attempt, step and policy, so a repeated step writes nothing again. An attempt without quota for another span
 * does not end the run.
 */
export async function recordTraining(
  { store, emit }: RecordingSession,
  step: {
    readonly collected: readonly CollectedRollout[];
    readonly outcomes: readonly PlannedStep[];
    readonly step: number;
  },
): Promise<void> {
  const spans = trainingSpans(step);
  if (spans.length === 0) return;
  try {
    await store.appendSpans(spans);
  } catch (error) {
    if (!AgentLightningError.isInstance(error) || error.code !== 'QUOTA_EXCEEDED') throw error;
    emit({ type: 'warning', message: `step ${step.step}: its advantages are not recorded: ${error.message}` });
  }
}

function trainingSpans(step: Parameters<typeof recordTraining>[1]): readonly SpanInput[] {
  const rollouts = new Map(step.collected.map((rollout) => [rollout.rollout.rolloutId, rollout]));
  return step.outcomes.flatMap(({ policy, plan }) =>
    (plan.attempts ?? []).flatMap((attempt) => {
      const last = lastSpan(rollouts.get(attempt.rolloutId), attempt);
      if (last === null || attempt.calls.length === 0) return [];
      const training: RecordedTraining = { ...attempt, step: step.step, policy: policy.name };
      const { traceId, endTimeMs } = last;
      return [trainingToSpan(training, { spanId: idOf(training), traceId, endTimeMs })];
    }),
  );
}

function lastSpan(rollout: CollectedRollout | undefined, { attemptId }: AttemptTraining) {
  return rollout?.spans.findLast((span) => span.attemptId === attemptId) ?? null;
}

function idOf({ attemptId, rolloutId, step, policy }: RecordedTraining): string {
  const key = JSON.stringify([rolloutId, attemptId, step, policy]);
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
