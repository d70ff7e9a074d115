import type { JsonObject, Reward, Store } from '@agentlightning/core';
import { annotationSpan, primaryRewardName, scoredOutputAttributes } from '@agentlightning/core/internal';
import { rewardAttributes, rewardFromSpan } from '@agentlightning/core/spans';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import type { RescoredRollout } from './rescore-run.ts';

/** A copy of a run, whose rollouts have other rewards: `agl dataset` reads it, as any run. */
export class RunCopy {
  readonly #store: Store;
  readonly #runId: string;
  #copied = 0;

  private constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /**
   * Creates the run.
   *
   * @throws AgentLightningError CONFLICT when a run with the id exists
   */
  static async create(
    store: Store,
    { from, runId }: { readonly from: string; readonly runId: string },
  ): Promise<RunCopy> {
    const { name, config } = await store.getRun(from);
    await store.createRun({
      runId,
      name: `${name}, rescored`,
      config: { ...config, rescoredFrom: from } satisfies JsonObject,
    });
    await store.updateRun(runId, { status: 'running' });
    return new RunCopy(store, runId);
  }

  /** Ends a complete copy. */
  async finish(): Promise<void> {
    await this.#store.updateRun(this.#runId, { status: 'finished' });
  }

  /** Ends a copy that was interrupted. */
  async fail(): Promise<void> {
    await this.#store.updateRun(this.#runId, { status: 'failed' });
  }

  /** Copies a rollout with its spans, without its recorded rewards. */
  async add(rescored: RescoredRollout, { rollout, spans }: FinishedRollout): Promise<void> {
    this.#copied += 1;
    const started = await this.#store.startRollout({
      rolloutId: `${this.#runId}-${this.#copied}`,
      runId: this.#runId,
      input: rollout.input,
      mode: rollout.mode,
      metadata: { ...rollout.metadata, group_id: rescored.groupId, copied_from: rollout.rolloutId },
      workerId: 'rescore',
    });
    const ids = { rolloutId: started.rolloutId, attemptId: started.attempt.attemptId };
    const kept = spans.filter((span) => rewardFromSpan(span) === null).map((span) => ({ ...span, ...ids }));
    const attributes = {
      ...rewardAttributes(rewardsOf(rescored)),
      ...scoredOutputAttributes({ output: rescored.output, scores: rescored.scores }),
    };
    const sequenceId = (spans.at(-1)?.sequenceId ?? 0) + 1;
    const timeMs = rollout.endTimeMs ?? rollout.startTimeMs;
    const reward = { ...annotationSpan(attributes, { ...ids, timeMs }), sequenceId };
    await this.#store.appendSpans([...kept, reward]);
    await this.#store.updateAttempt(ids.rolloutId, ids.attemptId, { status: 'succeeded' });
  }
}

/** The reward as the primary dimension, and the parts; none where it is missing. */
function rewardsOf({ reward, scores }: RescoredRollout): readonly Reward[] {
  if (reward === null) return [];
  const parts = Object.entries(scores).flatMap(([name, { score }]) =>
    score === null || name === primaryRewardName ? [] : [{ name, value: score }],
  );
  return [{ name: primaryRewardName, value: reward }, ...parts];
}
