import { AgentLightningError, type SpanInput } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { isRewardedByEvaluator, restrictedContentOf, spanInputCodec } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import * as z from 'zod';
import type { SupervisorMethod } from './worker-messages.ts';

/** Number of ended attempts of which late spans are accepted: the trace of background work. */
const maxEndedAttempts = 1000;

const ids = z.object({ rolloutId: z.string(), attemptId: z.string() });
const isSpan = (value: unknown): boolean => {
  try {
    // Validates each field: the encoding of another value fails.
    return z.safeEncode(spanInputCodec, value as SpanInput).success;
  } catch {
    return false;
  }
};
const attemptPatch = z.strictObject({
  status: z.enum(['preparing', 'running', 'succeeded', 'failed', 'unresponsive', 'timeout']).optional(),
  lastHeartbeatTimeMs: z.number().optional(),
  metadata: z.record(z.string(), z.json()).optional(),
});

/** The arguments of each request; the runner in the process sends no others. */
const argumentsOf = {
  claimRollouts: z.tuple([z.object({ waitMs: z.number().min(0).optional() })]),
  getRollout: z.tuple([z.string()]),
  getLatestAttempt: z.tuple([z.string()]),
  updateRollout: z.tuple([z.string(), z.strictObject({ status: z.literal('requeuing') })]),
  updateAttempt: z.tuple([z.string(), z.string(), attemptPatch]),
  getResources: z.tuple([z.string()]),
  getLatestResources: z.tuple([]),
  querySpans: z.tuple([z.looseObject({ rolloutId: z.string() })]),
  appendSpans: z.tuple([z.array(z.custom<SpanInput>(isSpan, 'is not a span'))]),
  createAttemptToken: z.tuple([z.looseObject(ids.shape)]),
} as const satisfies Readonly<Record<SupervisorMethod, z.ZodType>>;

/**
 * The requests that a worker process may send. The agent runs in it and can send messages too, so they are limited as an
 * attempt's token is over HTTP: to the attempts that the process has claimed, without model calls.
 */
export class WorkerRights {
  readonly #running = new Map<string, AttemptedRollout>();
  readonly #ended = new Map<string, AttemptedRollout>();

  /** The process has claimed a rollout. */
  claimed(rollout: AttemptedRollout): void {
    this.#running.set(rollout.attempt.attemptId, rollout);
  }

  /** The attempt has ended, or was returned. */
  ended(attemptId: string): void {
    const rollout = this.#running.get(attemptId);
    if (rollout === undefined) return;
    this.#running.delete(attemptId);
    this.#ended.set(attemptId, rollout);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > maxEndedAttempts && oldest !== undefined) this.#ended.delete(oldest);
  }

  /**
   * Checks a request.
   *
   * @throws ValidationError for arguments that the runner does not send
   * @throws AgentLightningError PERMISSION_DENIED for another attempt, a reserved attribute, or a reward of an evaluator
   */
  assertMay(method: SupervisorMethod, args: readonly unknown[]): void {
    switch (method) {
      case 'claimRollouts':
      case 'getLatestResources':
        parsed(method, args);
        return;
      case 'getRollout':
      case 'getLatestAttempt':
      case 'updateRollout':
        this.#assertOwnRollout(method, parsed(method, args)[0]);
        return;
      case 'querySpans':
        this.#assertOwnRollout(method, parsed(method, args)[0].rolloutId);
        return;
      case 'updateAttempt': {
        const [rolloutId, attemptId] = parsed(method, args);
        this.#ownAttempt(method, { rolloutId, attemptId });
        return;
      }
      case 'createAttemptToken':
        this.#ownAttempt(method, parsed(method, args)[0]);
        return;
      case 'getResources': {
        const [resourcesId] = parsed(method, args);
        if (![...this.#running.values()].some((rollout) => rollout.resourcesId === resourcesId))
          throw denied(method, `resources ${resourcesId}`);
        return;
      }
      case 'appendSpans':
        for (const span of parsed(method, args)[0]) this.#assertMayAppend(span);
    }
  }

  #assertOwnRollout(method: SupervisorMethod, rolloutId: string): void {
    const own = [...this.#running.values(), ...this.#ended.values()];
    if (!own.some((rollout) => rollout.rolloutId === rolloutId)) throw denied(method, `rollout ${rolloutId}`);
  }

  #ownAttempt(method: SupervisorMethod, { rolloutId, attemptId }: z.infer<typeof ids>): AttemptedRollout {
    const own = this.#running.get(attemptId) ?? this.#ended.get(attemptId);
    if (own?.rolloutId !== rolloutId) throw denied(method, `attempt ${attemptId} of rollout ${rolloutId}`);
    return own;
  }

  #assertMayAppend(span: SpanInput): void {
    const rollout = this.#ownAttempt('appendSpans', span);
    const { reserved, isReward } = restrictedContentOf(span);
    if (reserved !== null)
      throw denied(
        'appendSpans',
        `the reserved attribute ${reserved} of span ${span.name}: the gateway records model calls`,
      );
    if (!isReward) return;
    if (isRewardedByEvaluator(rollout)) throw denied('appendSpans', `the reward ${span.name}: an evaluator records it`);
    if (!this.#running.has(span.attemptId))
      throw denied('appendSpans', `the reward ${span.name} of attempt ${span.attemptId}, which has ended`);
  }
}

function parsed<TMethod extends SupervisorMethod>(
  method: TMethod,
  args: readonly unknown[],
): z.infer<(typeof argumentsOf)[TMethod]> {
  return parse(argumentsOf[method], args, `The request ${method} of a worker process`) as z.infer<
    (typeof argumentsOf)[TMethod]
  >;
}

function denied(method: SupervisorMethod, what: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `A worker process may not request ${method} for ${what}`,
    remedy: 'Agents record through their adapter and emitReward, in the attempt that runs them.',
  });
}
