import type { JsonValue } from '@agentlightning/core';
import { familyMetric, runMetrics } from '@agentlightning/core/metrics';
import { type TaskTrials, type UnsolvedTask, unsolvedTasks } from '@agentlightning/core/protocol';
import type { RewardDefinition } from '../config/reward-definition.ts';
import type { CurriculumSettings } from '../config/sections/collection-config.ts';
import type { RewardRange } from '../config/sections/reward-config.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import { rolloutReward } from '../results/rollout-reward.ts';
import { type NumberedTask, taskAt } from '../rollouts/rollout-plan.ts';
import {
  addOutcomes,
  type PassRates,
  readPassRates,
  type StoredPassRates,
  smoothedPassRate,
  type TaskOutcome,
  writePassRates,
} from '../run/pass-rates.ts';
import { drawTasks } from './draw-tasks.ts';

/**
 * The probability of each task to be drawn first: `floor / n + (1 − floor) · p · (1 − p) / Σ p · (1 − p)`, with the smoothed pass
 * rate `p`. Their sum is 1.
 *
 * @param count - the number of tasks, at least 1
 */
export function taskWeights(rates: PassRates, count: number, floor: number): readonly number[] {
  const priorities = Array.from({ length: count }, (_, task) => {
    const rate = smoothedPassRate(rates.get(task));
    return rate * (1 - rate);
  });
  const total = priorities.reduce((sum, priority) => sum + priority, 0);
  return priorities.map((priority) => floor / count + ((1 - floor) * priority) / total);
}

/** The number of equally likely tasks that are as concentrated: `1 / Σ w²` (Kish's effective sample size). */
export function effectiveTasks(weights: readonly number[]): number {
  return 1 / weights.reduce((sum, weight) => sum + weight * weight, 0);
}

/** The settings of a {@link TaskSampler}. */
export interface TaskSamplerOptions {
  /** At least one. */
  readonly tasks: readonly JsonValue[];
  readonly seed: number;
  /** Null draws every task equally often: see {@link taskAt}. */
  readonly curriculum: CurriculumSettings | null;
  /** The initial results. */
  readonly passRates: StoredPassRates;
  /** The initial trials of tasks. */
  readonly trials: readonly TaskTrials[];
  readonly reward: RewardDefinition;
  /** The range of rewards. */
  readonly rewardRange: RewardRange;
}

/** The groups to select tasks for. */
export interface TaskRequest {
  /** Identifies the groups within the run. */
  readonly key: string;
  /** The position of the first group in the stream of tasks without a curriculum. */
  readonly position: number;
  readonly count: number;
  /** Selects another stream. @default 0 */
  readonly stream?: number;
  /** Tasks that a curriculum draws only when no other is left. @default none */
  readonly avoided?: ReadonlySet<number>;
}

/** Selects the tasks of training groups. Equal seeds and recorded results give equal tasks. */
export class TaskSampler {
  readonly #options: TaskSamplerOptions;
  #rates: PassRates;
  #weights: readonly number[];
  #trials: readonly TaskTrials[];

  constructor(options: TaskSamplerOptions) {
    this.#options = options;
    this.#rates = readPassRates(options.passRates);
    this.#trials = options.trials;
    this.#weights = this.#computeWeights();
  }

  /** The tasks of the next groups. */
  draw({ key, position, count, stream = 0, avoided }: TaskRequest): readonly NumberedTask[] {
    const { tasks, curriculum } = this.#options;
    const seed = (this.#options.seed ^ stream) >>> 0;
    if (curriculum === null) {
      return Array.from({ length: count }, (_, offset) => taskAt({ tasks, position: position + offset, seed }));
    }
    const drawn = drawTasks({
      weights: this.#weights,
      count,
      key: `${seed}/${key}`,
      avoided: new Set([...(avoided ?? []), ...this.setAside().map(({ task }) => task)]),
    });
    return drawn.map((index) => ({ index, input: tasks[index] ?? null }));
  }

  /** Records the finished rollouts of a step, in any order. */
  record(rollouts: readonly FinishedRollout[]): void {
    const { curriculum } = this.#options;
    if (curriculum === null) return;
    const outcomes = rollouts.flatMap((rollout) => this.#outcomeOf(rollout, curriculum));
    if (curriculum.setAsideAfter !== null) {
      const trials = outcomes.map(({ passed, ...trial }) => ({ ...trial, isSolved: passed > 0 }));
      this.#trials = addTrials(this.#trials, trials);
    }
    this.#rates = addOutcomes(this.#rates, outcomes, curriculum.memory);
    this.#weights = this.#computeWeights();
  }

  /** The recorded trials of tasks. */
  trials(): readonly TaskTrials[] {
    return this.#trials;
  }

  /** The tasks that are set aside: no rollout has solved them. */
  setAside(): readonly UnsolvedTask[] {
    return unsolvedTasks(this.#trials, this.#options.curriculum?.setAsideAfter ?? null);
  }

  /** The recorded results. */
  passRates(): StoredPassRates {
    return writePassRates(this.#rates);
  }

  /** The metrics of the group `curriculum`; those by pass rate count tasks by their smoothed rate. */
  metrics(): Readonly<Record<string, number>> {
    const { tasks, curriculum } = this.#options;
    if (curriculum === null) return {};
    const bins = [...this.#rates.values()].map((results) => Math.min(4, Math.floor(5 * smoothedPassRate(results))));
    const histogram = Array.from({ length: 5 }, (_, bin) => [
      familyMetric(runMetrics.tasksByPassRate, `${20 * bin}_${20 * (bin + 1)}`),
      bins.filter((each) => each === bin).length,
    ]);
    return {
      [runMetrics.effectiveTasks.name]: effectiveTasks(this.#weights),
      [runMetrics.untriedTasks.name]: tasks.length - this.#rates.size,
      ...(curriculum.setAsideAfter === null ? {} : { [runMetrics.tasksSetAside.name]: this.setAside().length }),
      ...Object.fromEntries(histogram),
    };
  }

  #computeWeights(): readonly number[] {
    const { tasks, curriculum } = this.#options;
    return curriculum === null ? [] : taskWeights(this.#rates, tasks.length, curriculum.floor);
  }

  /** Rollouts that infrastructure failed, and cancelled ones, have no outcome. One without a reward has not passed. */
  #outcomeOf(
    finished: FinishedRollout,
    settings: CurriculumSettings,
  ): readonly (TaskOutcome & { readonly rolloutId: string })[] {
    const { rollout, failure } = finished;
    const task = rollout.metadata?.['task_index'];
    if (typeof task !== 'number' || (failure !== null && failure !== 'agent')) return [];
    const reward = rolloutReward(finished, this.#options.reward);
    const { rolloutId } = rollout;
    return [
      { task, rolloutId, passed: reward === null ? 0 : passedShare(reward, settings, this.#options.rewardRange) },
    ];
  }
}

/** Degree to which a reward passes, from 0 to 1. */
function passedShare(reward: number, { passReward }: CurriculumSettings, [low, high]: RewardRange): number {
  if (passReward !== null) return reward >= passReward ? 1 : 0;
  return Math.min(1, Math.max(0, (reward - low) / (high - low)));
}

/** A finished rollout of a task. */
export interface Trial {
  readonly task: number;
  readonly rolloutId: string;
  readonly isSolved: boolean;
}

/** Number of rollouts that show what goes wrong with a task. */
const shown = 3;

/** Adds the rollouts of a step, in any order. */
export function addTrials(earlier: readonly TaskTrials[], trials: readonly Trial[]): readonly TaskTrials[] {
  const byTask = new Map(earlier.map((each) => [each.task, each]));
  for (const { task, rolloutId, isSolved } of trials.toSorted((one, other) =>
    one.rolloutId < other.rolloutId ? -1 : 1,
  )) {
    const known = byTask.get(task) ?? { task, rollouts: 0, isSolved: false, latest: [] };
    const solved = known.isSolved || isSolved;
    const latest = solved ? [] : [...known.latest, rolloutId].slice(-shown);
    byTask.set(task, { task, rollouts: known.rollouts + 1, isSolved: solved, latest });
  }
  return [...byTask.values()].toSorted((one, other) => one.task - other.task);
}
