import { setImmediate } from 'node:timers/promises';
import type { Clock, Run } from '@agentlightning/core';
import { familyPart, isMetricOf, runMetrics } from '@agentlightning/core/metrics';
import { costOfRun, readRunProgress, storeTimeOf, unfinishedRunStatuses } from '@agentlightning/core/protocol';
import type { ModelUsage } from '@agentlightning/core/store';
import type { PromptVersions } from '../api/prompt-views.ts';
import type { RunComparison, RunDetail, RunList, RunLiveness, RunMetrics, RunSummary } from '../api/run-views.ts';
import { compareRuns } from './compare-runs.ts';
import type { DashboardStore } from './dashboard-store.ts';
import { MetricRanges, thinCurve } from './down-sample.ts';
import { readPromptVersions, readSearch } from './prompt-versions.ts';
import { type RunFilter, runMatches } from './run-filter.ts';
import { evaluationViews, type WarningExplanations, warningViews } from './run-progress.ts';

/** Age of the trainer's last heartbeat above which a running run counts as silent, in milliseconds. */
const silentAfterMs = 15_000;

/** The newest runs that a list is filtered from. */
const maxListedRuns = 2000;

/** Runs that are read at a time. */
const runsPerPage = 200;

/** Maximum number of points of the curve in a list of runs. */
const sparklinePoints = 60;

/** Steps of a run that are read at a time: the first time, and at most. */
const firstMetricsPage = 200;
const maxMetricsPage = 2000;

/** Values of metrics that are read at a time, about. */
const valuesPerPage = 20_000;

/** Runs whose metrics and token usage are kept in memory. */
const maxCachedRuns = 100;

/** Options of {@link RunReader}. */
export interface RunReaderOptions {
  readonly store: DashboardStore;
  readonly clock: Clock;
  readonly explanations: WarningExplanations;
}

/** Reads runs for the dashboard. */
export class RunReader {
  readonly #store: DashboardStore;
  readonly #clock: Clock;
  readonly #explanations: WarningExplanations;
  /** The metrics of runs by id, with the update that they belong to. */
  readonly #metrics: Map<string, { readonly updateTimeMs: number; readonly ranges: Promise<MetricRanges> }> = new Map();
  /** The token usage of ended runs by id, with the update that they belong to. */
  readonly #usage: Map<string, { readonly updateTimeMs: number; readonly usage: readonly ModelUsage[] }> = new Map();

  constructor({ store, clock, explanations }: RunReaderOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#explanations = explanations;
  }

  /** The newest runs that match a filter. */
  async list(filter: RunFilter): Promise<RunList> {
    const found: Run[] = [];
    const tags = new Set<string>();
    for (let offset = 0; offset < maxListedRuns && found.length <= filter.limit; offset += runsPerPage) {
      const { items } = await this.#store.queryRuns({ limit: runsPerPage, offset });
      for (const run of items) {
        const progress = readRunProgress(run);
        for (const tag of progress.tags) tags.add(tag);
        if (runMatches(run, progress, filter)) found.push(run);
      }
      if (items.length < runsPerPage) break;
      await setImmediate();
    }
    const shown = found.slice(0, filter.limit);
    const nowMs = await this.#storeTime(shown);
    const summaries = shown.map(async (run) => await this.#summary(run, await this.#usageOf(run), nowMs));
    return {
      items: await Promise.all(summaries),
      hasMore: found.length > filter.limit,
      tags: [...tags].sort(),
      nowMs,
    };
  }

  /** The differences of runs from the first one. Throws NOT_FOUND for an unknown id. */
  async compare(runIds: readonly string[]): Promise<RunComparison> {
    const [base, ...others] = await Promise.all(runIds.map(async (runId) => await this.#store.getRun(runId)));
    return { differences: base === undefined ? [] : others.map((run) => compareRuns(base, run)) };
  }

  /** One run. Throws NOT_FOUND for an unknown id. */
  async detail(runId: string): Promise<RunDetail> {
    const run = await this.#store.getRun(runId);
    const progress = readRunProgress(run);
    const statistics = await this.#store.runStatistics(runId);
    const nowMs = await this.#storeTime([run]);
    return {
      ...(await this.#summary(run, statistics.usage, nowMs)),
      config: run.config,
      evaluations: evaluationViews(progress),
      runWarnings: warningViews(progress, this.#explanations),
      stages: progress.stages,
      unsolvedTasks: progress.unsolvedTasks,
      publications: progress.publications.toReversed(),
      statistics,
      failures: failuresOf((await this.#metricsOf(run)).totals),
      search: progress.search === null ? null : readSearch(run, progress.search),
      nowMs,
    };
  }

  /** The metrics of a run in at most `points` buckets. Throws NOT_FOUND for an unknown id. */
  async metrics(runId: string, points: number): Promise<RunMetrics> {
    return (await this.#metricsOf(await this.#store.getRun(runId))).view(points);
  }

  /** The versions of a prompt search; none for a training run. Throws NOT_FOUND for an unknown id. */
  async prompts(runId: string): Promise<PromptVersions> {
    return readPromptVersions(await this.#store.getRun(runId));
  }

  /** The time of the store, whose clock writes heartbeats and updates: the clock of the dashboard may differ. */
  async #storeTime(runs: readonly Run[]): Promise<number> {
    const latest = { sortBy: 'lastHeartbeatTimeMs', sortOrder: 'desc', limit: 1 } as const;
    const { items } = await this.#store.queryWorkers(latest);
    return Math.max(storeTimeOf(items, this.#clock.now()), ...runs.map(({ updateTimeMs }) => updateTimeMs));
  }

  async #summary(run: Run, usage: readonly ModelUsage[], nowMs: number): Promise<RunSummary> {
    const progress = readRunProgress(run);
    const { finishedStep, steps, before, after, verdict, rewardCurve, warnings } = progress;
    const worker = await this.#store.getWorker(`trainer-${run.runId}`);
    const { totals } = await this.#metricsOf(run);
    const heartbeatTimeMs = worker?.lastHeartbeatTimeMs ?? null;
    return {
      runId: run.runId,
      name: run.name,
      kind: progress.kind,
      tags: progress.tags,
      status: run.status,
      liveness: livenessOf(run, heartbeatTimeMs, nowMs),
      heartbeatTimeMs,
      step: finishedStep,
      steps,
      rewardBefore: before?.reward ?? null,
      rewardAfter: after?.reward ?? null,
      verdict,
      rewardCurve: thinCurve(rewardCurve, sparklinePoints),
      lossCurve: thinCurve(
        // Stages after an imitation have rewards.
        progress.stages.length > 1 ? [] : progress.lossCurve.filter((loss) => loss !== null),
        sparklinePoints,
      ),
      warnings: warnings.length,
      createTimeMs: run.createTimeMs,
      updateTimeMs: run.updateTimeMs,
      trainedTokens: trainedTokens(totals),
      cost: costOfRun(run, usage),
    };
  }

  async #usageOf({ runId, status, updateTimeMs }: Run): Promise<readonly ModelUsage[]> {
    const known = this.#usage.get(runId);
    if (known?.updateTimeMs === updateTimeMs) return known.usage;
    const { usage } = await this.#store.runStatistics(runId);
    if (!unfinishedRunStatuses.includes(status)) this.#usage.set(runId, { updateTimeMs, usage });
    return usage;
  }

  async #metricsOf({ runId, updateTimeMs }: Run): Promise<MetricRanges> {
    const known = this.#metrics.get(runId);
    if (known?.updateTimeMs === updateTimeMs) return await known.ranges;
    const ranges = this.#readMetrics(runId);
    const entry = { updateTimeMs, ranges };
    // The least recently read are first.
    this.#metrics.delete(runId);
    this.#metrics.set(runId, entry);
    const [oldest] = this.#metrics.keys();
    if (this.#metrics.size > maxCachedRuns && oldest !== undefined) this.#metrics.delete(oldest);
    try {
      return await ranges;
    } catch (error) {
      if (this.#metrics.get(runId) === entry) this.#metrics.delete(runId);
      throw error;
    }
  }

  /** Reads the metrics of a run in pages, between which other requests are served, and keeps ranges of its steps. */
  async #readMetrics(runId: string): Promise<MetricRanges> {
    let ranges: MetricRanges | null = null;
    let limit = firstMetricsPage;
    for (let offset = 0; ; ) {
      const { items, total } = await this.#store.queryMetrics(runId, { limit, offset });
      ranges ??= new MetricRanges(total);
      ranges.add(items);
      if (items.length < limit) return ranges;
      offset += items.length;
      const values = items.reduce((sum, point) => sum + Object.keys(point.values).length, 0);
      limit = Math.min(maxMetricsPage, Math.max(1, Math.floor((valuesPerPage * items.length) / Math.max(1, values))));
      await setImmediate();
    }
  }
}

function livenessOf(run: Run, heartbeatTimeMs: number | null, nowMs: number): RunLiveness {
  const { status, updateTimeMs } = run;
  if (status !== 'running') return 'ended';
  // No process works on a deployment.
  if (readRunProgress(run).kind === 'deployment') return 'live';
  const lastSignMs = Math.max(heartbeatTimeMs ?? 0, updateTimeMs);
  return nowMs - lastSignMs > silentAfterMs ? 'silent' : 'live';
}

function trainedTokens(totals: ReadonlyMap<string, number>): number | null {
  const counts = [...totals].flatMap(([name, total]) => (isMetricOf(runMetrics.tokensTrained, name) ? [total] : []));
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

function failuresOf(totals: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  const failures = [...totals].flatMap(([name, total]) => {
    const cause = familyPart(runMetrics.failures, name);
    return cause === null ? [] : [[cause, total] as const];
  });
  return Object.fromEntries(failures);
}
