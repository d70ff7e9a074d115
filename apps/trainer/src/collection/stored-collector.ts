import { AgentLightningError } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { stepsBefore } from '../config/stages.ts';
import type { TaskSampler } from '../curriculum/task-sampler.ts';
import type { CollectedStep, CollectionState, Collector } from '../run/collector.ts';
import type { StoredSession } from '../session/training-session.ts';

/** Takes the rollouts of steps from stored data: every group once per epoch, in random order. */
export class StoredCollector implements Collector {
  readonly #session: StoredSession;
  readonly #sampler: TaskSampler;

  constructor(session: StoredSession, sampler: TaskSampler) {
    this.#session = session;
    this.#sampler = sampler;
  }

  /** @inheritdoc */
  async collect(step: number): Promise<CollectedStep> {
    const { config, data, signal, failure, emit } = this.#session;
    AbortSignal.any([signal, failure]).throwIfAborted();
    const position = (step - 1 - stepsBefore(config)) * config.tasksPerStep;
    const drawn = this.#sampler.draw({ key: `step-${step}`, position, count: config.tasksPerStep });
    // A step of more groups than there are has each once.
    const rollouts = await data.read([...new Set(drawn.map(({ index }) => index))]);
    emit({ type: 'rollout-finished', phase: 'step', step, finished: rollouts.length, total: rollouts.length });
    const hasCalls = rollouts.some(({ spans }) => spans.some((span) => modelCallFromSpan(span) !== null));
    if (hasCalls) return { rollouts, setAside: [], metrics: {} };
    throw new AgentLightningError({
      code: 'NOTHING_TO_TRAIN',
      message: `none of the ${rollouts.length} stored rollouts of step ${step} has a model call with its messages or token ids`,
      remedy: `Inspect one: \`agl show ${rollouts[0]?.rollout.rolloutId ?? ''}\`.`,
    });
  }

  /** @inheritdoc */
  state(): CollectionState | null {
    // A later stage continues the groups of an earlier one.
    return this.#session.state.collection;
  }

  /** @inheritdoc */
  async close(): Promise<void> {
    // No rollouts are in progress.
  }
}
