import { runMetrics } from '@agentlightning/core/metrics';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { stepsBefore } from '../config/stages.ts';
import type { TaskSampler } from '../curriculum/task-sampler.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { hasLearningSignal } from '../results/rollout-reward.ts';
import { collectPhase } from '../rollouts/collect-phase.ts';
import { groupRollouts } from '../rollouts/collect-rollouts.ts';
import type { CollectedStep, Collector } from '../run/collector.ts';
import type { TrainingSession } from '../session/training-session.ts';

/** The stream of replacements, which differs from that of the steps. */
const refillStream = 0x9e3779b9;

/** Collects between updates: each step enqueues its rollouts, and waits for all of them. */
export class SyncCollector implements Collector {
  readonly #session: TrainingSession;
  readonly #sampler: TaskSampler;

  constructor(session: TrainingSession, sampler: TaskSampler) {
    this.#session = session;
    this.#sampler = sampler;
  }

  /** @inheritdoc */
  async collect(step: number): Promise<CollectedStep> {
    const { config, groupSize } = this.#session;
    const { tasksPerStep, collection } = config;
    const planned = this.#sampler.draw({
      key: `step-${step}`,
      position: (step - 1 - stepsBefore(config)) * tasksPerStep,
      count: tasksPerStep,
    });
    const drawn = new Set(planned.map(({ index }) => index));
    const plan = { phase: 'step', step, rolloutsPerTask: groupSize } as const;
    const rollouts = await collectPhase(this.#session, { ...plan, tasks: planned });
    if (collection.refillGroups === 0) return { rollouts, setAside: [], metrics: {} };
    const all = [...rollouts];
    let replaced = 0;
    for (let count = this.#replaceable(all, replaced); count > 0; count = this.#replaceable(all, replaced)) {
      const key = `step-${step}-refill-${replaced}`;
      const position = (step - 1) * collection.refillGroups + replaced;
      const others = this.#sampler.draw({ key, position, count, stream: refillStream, avoided: drawn });
      for (const { index } of others) drawn.add(index);
      all.push(...(await collectPhase(this.#session, { ...plan, key, tasks: others })));
      replaced += count;
    }
    return {
      ...selectGroups(all, this.#session.config),
      metrics: { [runMetrics.replacedGroups.name]: replaced },
    };
  }

  /** @inheritdoc */
  state(): null {
    return null;
  }

  /** @inheritdoc */
  async close(): Promise<void> {
    // No rollouts are in progress between steps.
  }

  /** The number of groups without a learning signal to replace, within the budget. */
  #replaceable(all: readonly FinishedRollout[], replaced: number): number {
    const { tasksPerStep, collection, reward } = this.#session.config;
    const useful = groupRollouts(all).filter(({ rollouts }) => hasLearningSignal(rollouts, reward));
    const missing = tasksPerStep - useful.length;
    return Math.min(Math.max(0, missing), collection.refillGroups - replaced);
  }
}

/** Selects the groups of a step, in order: those with a learning signal first, then others. */
function selectGroups(
  all: readonly FinishedRollout[],
  { tasksPerStep: count, reward }: Pick<ResolvedConfig, 'tasksPerStep' | 'reward'>,
): Pick<CollectedStep, 'rollouts' | 'setAside'> {
  const groups = groupRollouts(all);
  const useful = groups.filter(({ rollouts }) => hasLearningSignal(rollouts, reward));
  const others = groups.filter(({ rollouts }) => !hasLearningSignal(rollouts, reward));
  const ordered = [...useful, ...others];
  return {
    rollouts: ordered.slice(0, count).flatMap(({ rollouts }) => rollouts),
    setAside: ordered.slice(count).flatMap(({ rollouts }) => rollouts),
  };
}
