import { AgentLightningError } from '@agentlightning/core';
import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import type { TaskSampler } from '../curriculum/task-sampler.ts';
import { mean } from '../events/mean.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { hasLearningSignal } from '../results/rollout-reward.ts';
import { planPhase } from '../rollouts/collect-phase.ts';
import { cancelUnfinished, collectRollouts } from '../rollouts/collect-rollouts.ts';
import type { NumberedTask } from '../rollouts/rollout-plan.ts';
import type { CollectedStep, CollectionState, Collector } from '../run/collector.ts';
import type { TrainingSession } from '../session/training-session.ts';
import { type GroupStaleness, groupStaleness, type PolicyVersions, readPolicyVersions } from './group-staleness.ts';

/** A group whose rollouts run, or have finished and wait for a step. */
interface OpenGroup {
  readonly index: number;
  /** The step for which it was enqueued. */
  readonly step: number;
  /** The index of its task. */
  readonly task: number;
  readonly rolloutIds: readonly string[];
  /** Ends the wait for its rollouts. */
  readonly cancel: AbortController;
  /** Null while rollouts run. */
  rollouts: readonly FinishedRollout[] | null;
  /** Resolves when it has finished. */
  readonly ended: Promise<void>;
}

/** Counts of the groups of a step that are not trained on. */
interface DroppedGroups {
  /** Finished, but sampled by weights that are too old, or that no longer exist. */
  stale: number;
  /** Unfinished when all weights that they could have been sampled by were too old. */
  cancelled: number;
  /** Finished, without a learning signal, and replaced: see `refillGroups`. */
  replaced: number;
  /** The rollouts of finished groups, except those of weights that no longer exist. */
  readonly rollouts: FinishedRollout[];
}

/** The task of a dropped group, which a new group of its index repeats. */
interface RepeatedTask {
  /** The number of groups of this index before. */
  readonly repeat: number;
  readonly task: number;
}

/** Maximum wait of a request for finished rollouts, in milliseconds. */
const waitMs = 10_000;

/**
 * Collects ahead of training. Groups are taken from an endless stream of tasks, in which the order of tasks depends on the
 * seed only, unless a curriculum weights them. As in AReaL (arXiv 2505.24298, section 5.1), the number of groups in progress bounds their staleness: a step
 * starts with as many groups as it and the following `maxStaleness` steps need, and `oversample` more.
 *
 * Tasks keep their shares: groups that finish fast would otherwise replace slow ones. A step takes groups in the order of their
 * draw and leaves out at most `oversample` unfinished ones before them, and the task of a dropped group is drawn again.
 */
export class AsyncCollector implements Collector {
  readonly #session: TrainingSession;
  readonly #sampler: TaskSampler;
  readonly #open = new Map<number, OpenGroup>();
  /** Groups of an earlier process, which are enqueued before new ones. */
  #resumed: readonly number[];
  /** Dropped groups to repeat, which are enqueued before new ones and beyond the limit. */
  readonly #dropped: number[] = [];
  /** The tasks of dropped groups that are not trained yet. */
  readonly #repeated: Map<number, RepeatedTask>;
  #nextGroup: number;

  constructor(session: TrainingSession, sampler: TaskSampler) {
    this.#session = session;
    this.#sampler = sampler;
    const { collection, finishedStep } = session.state;
    this.#nextGroup = collection?.nextGroup ?? finishedStep * session.config.tasksPerStep;
    this.#resumed = collection?.openGroups ?? [];
    const repeating = collection?.repeating ?? [];
    this.#repeated = new Map(repeating.map(([index, repeat, task]) => [index, { repeat, task }]));
  }

  /** @inheritdoc */
  async collect(step: number): Promise<CollectedStep> {
    const { tasksPerStep } = this.#session.config;
    const versions = await readPolicyVersions(this.#session.policies);
    const dropped: DroppedGroups = { stale: 0, cancelled: await this.#cancelOverdue(step), replaced: 0, rollouts: [] };
    const ready = new Map<number, FinishedGroup>();
    for (;;) {
      this.#addFinished(ready, versions, dropped);
      this.#fill(step);
      this.#report(step, ready.size);
      const taken = byIndex(ready.values()).slice(0, tasksPerStep);
      if (taken.length === tasksPerStep && this.#late(taken).length <= this.#maxLate())
        return this.#take(taken, dropped);
      await Promise.race([...this.#open.values()].flatMap(({ rollouts, ended }) => (rollouts === null ? [ended] : [])));
    }
  }

  /** @inheritdoc */
  state(): CollectionState {
    const openGroups = [...this.#resumed, ...this.#open.keys()].toSorted(ascending);
    const repeating = openGroups.flatMap((index) => {
      const repeated = this.#repeated.get(index);
      return repeated === undefined ? [] : [[index, repeated.repeat, repeated.task] as const];
    });
    return { nextGroup: this.#nextGroup, openGroups, repeating };
  }

  /** @inheritdoc */
  async close(): Promise<void> {
    await this.#cancel([...this.#open.values()]);
  }

  /** Cancels groups that could only be taken by a step before this one. */
  async #cancelOverdue(step: number): Promise<number> {
    const { maxStaleness } = this.#session.config.collection;
    const overdue = [...this.#open.values()].filter(
      (group) => group.rollouts === null && step - group.step > maxStaleness,
    );
    await this.#cancel(overdue);
    for (const group of overdue) this.#repeat(group);
    return overdue.length;
  }

  /** The unfinished groups that were drawn before the last of these. */
  #late(taken: readonly FinishedGroup[]): readonly OpenGroup[] {
    const last = Math.max(...taken.map(({ index }) => index));
    return [...this.#open.values()].filter(({ rollouts, index }) => rollouts === null && index < last);
  }

  #maxLate(): number {
    const { tasksPerStep, collection } = this.#session.config;
    return Math.ceil(tasksPerStep * collection.oversample);
  }

  /** Adds the groups that have finished since the last call; removes those that are too stale, or have no learning signal. */
  #addFinished(ready: Map<number, FinishedGroup>, versions: PolicyVersions, dropped: DroppedGroups): void {
    const { collection, reward } = this.#session.config;
    const { maxStaleness, refillGroups } = collection;
    for (const group of byIndex(this.#open.values())) {
      const { index, rollouts } = group;
      if (rollouts === null || ready.has(index)) continue;
      const staleness = groupStaleness(rollouts, versions);
      const isFresh = !staleness.isAhead && staleness.max <= maxStaleness;
      if (isFresh && (dropped.replaced >= refillGroups || hasLearningSignal(rollouts, reward))) {
        ready.set(index, { index, rollouts, staleness });
        continue;
      }
      this.#open.delete(index);
      if (isFresh) {
        dropped.replaced += 1;
      } else {
        dropped.stale += 1;
        this.#repeat(group);
      }
      if (!staleness.isAhead) dropped.rollouts.push(...rollouts);
      if (dropped.stale > 10 * this.#limit(1)) throw alwaysStale(dropped.stale, staleness, maxStaleness);
    }
  }

  /** Enqueues groups up to the limit. */
  #fill(step: number): void {
    for (const index of this.#dropped.splice(0)) this.#enqueue(index, step);
    while (this.#open.size < this.#limit(step)) {
      const [resumed, ...others] = this.#resumed;
      this.#resumed = others;
      this.#enqueue(resumed ?? this.#nextGroup++, step);
    }
  }

  /** Draws the task of a dropped group again. */
  #repeat({ index, task }: OpenGroup): void {
    this.#repeated.set(index, { repeat: (this.#repeated.get(index)?.repeat ?? 0) + 1, task });
    this.#dropped.push(index);
  }

  #keyOf(index: number): string {
    const repeated = this.#repeated.get(index);
    return repeated === undefined ? `group-${index}` : `group-${index}-repeat-${repeated.repeat}`;
  }

  /** The task of a group: that of the dropped group which it repeats, or the next one. */
  #taskOf(index: number): NumberedTask {
    const { tasks } = this.#session;
    const repeated = this.#repeated.get(index)?.task;
    if (repeated !== undefined) return { index: repeated, input: tasks.train[repeated] ?? null };
    const avoided = new Set([...this.#open.values()].map(({ task }) => task));
    const [drawn] = this.#sampler.draw({ key: `group-${index}`, position: index, count: 1, avoided });
    return drawn ?? { index: 0, input: tasks.train[0] ?? null };
  }

  /** The number of groups in progress at the start of a step. */
  #limit(step: number): number {
    const { tasksPerStep, steps, collection } = this.#session.config;
    const stepsAhead = Math.min(1 + collection.maxStaleness, Math.max(1, steps - step + 1));
    return tasksPerStep * stepsAhead + Math.ceil(tasksPerStep * collection.oversample);
  }

  #enqueue(index: number, step: number): void {
    const { config, groupSize, store, failure, signal, assertHealthy, emit } = this.#session;
    const task = this.#taskOf(index);
    const requests = planPhase(this.#session, {
      phase: 'step',
      step,
      key: this.#keyOf(index),
      tasks: [task],
      rolloutsPerTask: groupSize,
    });
    const cancel = new AbortController();
    const rolloutIds = requests.flatMap(({ rolloutId }) => rolloutId ?? []);
    const collected = collectRollouts(requests, {
      store,
      signal: AbortSignal.any([failure, signal, cancel.signal]),
      assertHealthy,
      scoring: config.rewards.scoring,
      warn: (message) => emit({ type: 'warning', message }),
      waitMs,
      onProgress: () => undefined,
    });
    const ended = collected.then((rollouts) => {
      group.rollouts = rollouts;
    });
    // Errors are thrown by the step that waits for it.
    ended.catch(() => undefined);
    const group: OpenGroup = {
      index,
      step,
      task: task.index,
      rolloutIds,
      cancel,
      rollouts: null,
      ended,
    };
    this.#open.set(index, group);
  }

  async #cancel(groups: readonly OpenGroup[]): Promise<void> {
    if (groups.length === 0) return;
    for (const { index, cancel } of groups) {
      cancel.abort();
      this.#open.delete(index);
    }
    const { store, run } = this.#session;
    await cancelUnfinished(store, { runId: run.runId, rolloutIdIn: groups.flatMap(({ rolloutIds }) => rolloutIds) });
  }

  #take(groups: readonly FinishedGroup[], dropped: DroppedGroups): CollectedStep {
    const late = this.#late(groups).length;
    for (const { index } of groups) {
      this.#open.delete(index);
      this.#repeated.delete(index);
    }
    const staleness = groups.map((group) => group.staleness.max);
    return {
      rollouts: groups.flatMap(({ rollouts }) => rollouts),
      setAside: dropped.rollouts,
      metrics: {
        ...stalenessMetrics(staleness, this.#session.config.collection.maxStaleness),
        [runMetrics.staleGroups.name]: dropped.stale,
        [runMetrics.cancelledGroups.name]: dropped.cancelled,
        [runMetrics.lateGroups.name]: late,
        [runMetrics.groupsAhead.name]: this.#open.size,
        ...(this.#session.config.collection.refillGroups === 0
          ? {}
          : { [runMetrics.replacedGroups.name]: dropped.replaced }),
      },
    };
  }

  #report(step: number, ready: number): void {
    const { config, groupSize, emit } = this.#session;
    const total = config.tasksPerStep * groupSize;
    emit({ type: 'rollout-finished', phase: 'step', step, finished: Math.min(ready * groupSize, total), total });
  }
}

/** A group whose rollouts have finished. */
interface FinishedGroup {
  readonly index: number;
  readonly rollouts: readonly FinishedRollout[];
  readonly staleness: GroupStaleness;
}

/** Groups in the order of their index, in which their tasks were drawn. */
function byIndex<TGroup extends { readonly index: number }>(groups: Iterable<TGroup>): readonly TGroup[] {
  return [...groups].toSorted((one, other) => one.index - other.index);
}

/** The mean, the maximum and the histogram of staleness over groups: `staleness/groups_1` counts those of one version. */
function stalenessMetrics(staleness: readonly number[], maxStaleness: number): Readonly<Record<string, number>> {
  const counts = Array.from({ length: maxStaleness + 1 }, (_, versions) => [
    familyMetric(runMetrics.stalenessGroups, versions),
    staleness.filter((each) => each === versions).length,
  ]);
  return {
    [runMetrics.stalenessMean.name]: mean(staleness) ?? 0,
    [runMetrics.stalenessMax.name]: Math.max(...staleness),
    ...Object.fromEntries(counts),
  };
}

function alwaysStale(count: number, staleness: GroupStaleness, maxStaleness: number): AgentLightningError {
  const how = staleness.isAhead ? 'a later version than the current one' : `${staleness.max} versions before it`;
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `${count} groups of one step are too stale to train on: the policy version of the last one is ${how}, and maxStaleness is ${maxStaleness}`,
    remedy:
      'Check that the model endpoint reports the policy version that the training runtime publishes, and that no other trainer publishes weights of this model.',
  });
}

function ascending(one: number, other: number): number {
  return one - other;
}
