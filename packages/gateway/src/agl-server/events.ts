import type { AgentLightningError, Clock, JsonObject, Rollout, Store } from '@agentlightning/core';
import type { SecretFields } from '@agentlightning/core/internal';
import { hasAttempt, lateRewardRefusal } from '@agentlightning/core/protocol';
import type { AttemptedRollout } from '@agentlightning/core/store';
import { findAttempt } from '../attempts/attempt-directory.ts';
import { eventFromSpan, eventToSpan } from './event-span.ts';
import type { ServedVersion } from './model-request-event.ts';
import { attemptNameOf, eventAttemptName, sectionOf } from './rollout-section.ts';
import type { AglRollouts } from './rollouts.ts';
import type { WireEvent } from './wire.ts';

/** Dependencies of {@link Events}. */
export interface AglEventsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly rollouts: AglRollouts;
  readonly served: ServedVersion;
  /** The fields that are redacted. */
  readonly secretFields: Pick<SecretFields, 'redact'>;
}

/** The events of the 1.0 protocol, stored as spans. */
export class AglEvents {
  readonly #options: AglEventsOptions;

  constructor(options: AglEventsOptions) {
    this.#options = options;
  }

  /** Records an event of an agent or its evaluator. @throws AglServerError 404 for an unknown rollout or attempt */
  async add(
    at: { readonly rolloutId: string; readonly attemptName: string },
    event: { readonly type: string; readonly data: JsonObject },
  ): Promise<WireEvent> {
    const { store, clock, rollouts, secretFields } = this.#options;
    const { rolloutId, attemptName } = at;
    const data = secretFields.redact(event.data);
    const attemptId = await rollouts.attemptId(rolloutId, attemptName);
    const timeMs = clock.now();
    await store.appendSpans([eventToSpan({ rolloutId, attemptId, type: event.type, data, timeMs })]);
    return {
      event_type: event.type,
      rollout_id: rolloutId,
      attempt_id: attemptName,
      timestamp: timeMs / 1000,
      data,
    };
  }

  /** Why a reward is rejected as late; null when it is accepted. */
  async lateReward(rolloutId: string, attemptId: string): Promise<AgentLightningError | null> {
    const attempt = await findAttempt(this.#options.store, rolloutId, attemptId);
    return attempt === null ? null : lateRewardRefusal(attempt);
  }

  /** The events of a rollout's last attempt, in order. @throws AglServerError 404 for an unknown rollout */
  async list(rolloutId: string): Promise<readonly WireEvent[]> {
    const { store, rollouts, served } = this.#options;
    const rollout = await rollouts.get(rolloutId);
    const name = eventAttemptName(rollout);
    const attemptId = await rollouts.knownAttemptId(rollout, name);
    if (attemptId === null) return [];
    const { items } = await store.querySpans({ rolloutId, attemptId });
    return items.map((span) => eventFromSpan(span, name, served)).filter((event) => event !== null);
  }

  /** The names of the attempts with events, the oldest first. */
  async attemptNames(rollout: Rollout | AttemptedRollout): Promise<readonly string[]> {
    if (!hasAttempt(rollout)) return [];
    const { store } = this.#options;
    const { rolloutId } = rollout;
    const section = sectionOf(rollout);
    const { items } = await store.queryAttempts(rolloutId);
    const counts = await Promise.all(
      items.map(async ({ attemptId }) => (await store.querySpans({ rolloutId, attemptId, limit: 1 })).total),
    );
    return items
      .filter((_, index) => (counts[index] ?? 0) > 0)
      .map(({ attemptId }) => attemptNameOf(section, attemptId));
  }
}
