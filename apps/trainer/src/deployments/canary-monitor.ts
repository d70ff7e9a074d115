import { AgentLightningError, type Clock, type Store } from '@agentlightning/core';
import { canaryMetrics, familyMetric } from '@agentlightning/core/metrics';
import type { DeploymentState } from '@agentlightning/core/protocol';
import { assertDeployedNotWorse } from './assert-not-worse.ts';
import { assessCanary, type CanaryAssessment } from './assess-canary.ts';
import { emptyMemory, type TrialMemory } from './canary-evidence.ts';
import type { Verdict } from './canary-verdict.ts';
import { promoteCandidate, rollback } from './change-deployment.ts';

/** Options of {@link CanaryMonitor}. */
export interface CanaryMonitorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: {
    info(details: object, message: string): void;
    warn(details: object, message: string): void;
  };
}

/** The interval of assessments, in milliseconds. */
const intervalMs = 5000;

/** Interval in which all of a trial is read again, in milliseconds; otherwise what is new. */
const wholeIntervalMs = 600_000;

/** A reading that takes long is made less often, so that it takes at most this share of the time. */
const maxTimeShare = 0.01;

/** The interval of recorded assessments, in milliseconds: one point of the curve in the dashboard. */
const recordIntervalMs = 60_000;

/** The name of automatic changes in the history. */
const automatic = 'agl serve';

interface KnownTrial {
  readonly version: string;
  memory: TrialMemory;
  nextMs: number;
  /** When everything is read again: traces that arrived late, and feedback from clocks that are behind. */
  wholeMs: number;
  /** The minute, and the numbers of traces and scores, of the last recorded assessment. */
  recorded: string;
  /** Whether it is not promoted, since its run is worse on held-out tasks or guards, or that is unknown. */
  isHeld: boolean;
}

/**
 * Assesses trials, records the assessments as metrics of the deployment, rolls back candidates that a guard is against, and promotes
 * those that are shown to be better, where that was asked for. Of several processes that do so, one is the first; the others notice.
 */
export class CanaryMonitor {
  readonly #options: CanaryMonitorOptions;
  readonly #trials: Map<string, KnownTrial> = new Map();

  constructor(options: CanaryMonitorOptions) {
    this.#options = options;
  }

  /** Assesses a deployment if it is time. @returns whether it was changed */
  async check(deployment: string, state: DeploymentState): Promise<boolean> {
    const { candidate } = state;
    if (candidate === null) {
      this.#trials.delete(deployment);
      return false;
    }
    const { store, clock } = this.#options;
    const trial = this.#trialOf(deployment, candidate.version);
    const startMs = clock.now();
    if (startMs < trial.nextMs) return false;
    const isWhole = startMs >= trial.wholeMs;
    if (isWhole) trial.memory = { ...emptyMemory(), details: trial.memory.details };
    const assessment = await assessCanary(store, deployment, state, trial.memory);
    const pauseMs = (clock.now() - startMs) / maxTimeShare;
    if (isWhole) trial.wholeMs = clock.now() + Math.max(wholeIntervalMs, pauseMs);
    trial.nextMs = clock.now() + (isWhole ? intervalMs : Math.max(intervalMs, pauseMs));
    if (assessment === null) return false;
    const isPromoted = assessment.verdict === 'better' && candidate.isPromotedWhenBetter && !trial.isHeld;
    const isDecided = assessment.guard !== null || isPromoted;
    await this.#record(deployment, { trial, assessment, share: candidate.share, isLast: isDecided });
    if (!isDecided) return false;
    if (assessment.guard === null && (await this.#isHeld(deployment, state))) {
      trial.isHeld = true;
      return false;
    }
    return await this.#decide(deployment, candidate.version, assessment);
  }

  #trialOf(deployment: string, version: string): KnownTrial {
    const known = this.#trials.get(deployment);
    const trial =
      known?.version === version
        ? known
        : { version, memory: emptyMemory(), nextMs: 0, wholeMs: 0, recorded: '', isHeld: false };
    this.#trials.set(deployment, trial);
    return trial;
  }

  /** Whether the held-out tasks or the guards of its run are against a promotion; a person may promote it all the same. */
  async #isHeld(deployment: string, { candidate, versions }: DeploymentState): Promise<boolean> {
    const version = versions.find((each) => each.version === candidate?.version);
    if (candidate === null || version === undefined || candidate.isFallAccepted) return false;
    const { store, log } = this.#options;
    try {
      await assertDeployedNotWorse(store, version);
      return false;
    } catch (error) {
      if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
      const command = `agl deploy --to ${deployment} --promote --accept-worse --reason "<why>"`;
      const details = { deployment, version: version.version, reason: error.message, command };
      log.warn(
        details,
        'the candidate is shown to be better, and is not promoted: it may have forgotten earlier tasks',
      );
      return true;
    }
  }

  async #decide(deployment: string, version: string, { guard, metrics }: CanaryAssessment): Promise<boolean> {
    const { store, log } = this.#options;
    const score = metrics.find(({ metric }) => metric === 'score');
    const shown = `the score is shown to be higher by ${(score?.low ?? 0).toFixed(2)} to ${(score?.high ?? 0).toFixed(2)}`;
    const change = { by: automatic, reason: guard ?? shown, expected: version };
    try {
      await (guard === null ? promoteCandidate(store, deployment, change) : rollback(store, deployment, change));
    } catch (error) {
      // A person, or another gateway, was faster.
      if (!AgentLightningError.isInstance(error) || error.code !== 'CONFLICT') throw error;
      return true;
    }
    const details = { deployment, version, reason: change.reason };
    if (guard === null) log.info(details, 'the candidate is live: it is shown to be better');
    else log.warn(details, 'the candidate is rolled back');
    return true;
  }

  async #record(
    deployment: string,
    {
      trial,
      assessment,
      share,
      isLast,
    }: {
      readonly trial: KnownTrial;
      readonly assessment: CanaryAssessment;
      readonly share: number;
      readonly isLast: boolean;
    },
  ): Promise<void> {
    const { store, clock } = this.#options;
    const timeMs = clock.now();
    const minute = Math.floor(timeMs / recordIntervalMs);
    const { live, candidate } = assessment.evidence;
    const counts = [live, candidate].map(({ traces, scores }) => `${traces}/${scores.length}`).join(' ');
    // Nothing new, or a point of this minute: the last assessment of a trial replaces it.
    const [lastMinute = '', lastCounts = ''] = trial.recorded.split(';');
    if (!isLast && (lastCounts === counts || lastMinute === String(minute))) return;
    trial.recorded = `${minute};${counts}`;
    await store.updateRun(deployment, {}, [
      {
        runId: deployment,
        step: minute,
        timeMs,
        values: { [canaryMetrics.canaryShare.name]: share, ...valuesOf(assessment) },
      },
    ]);
  }
}

/** Verdicts as values of metrics; an unknown one has none. */
const verdictNumbers: Readonly<Record<Exclude<Verdict, 'unknown'>, number>> = { better: 1, 'not-shown': 0, worse: -1 };

/** The bounds and means of the known quantities. */
function valuesOf({ metrics, verdict: whole }: CanaryAssessment): Readonly<Record<string, number>> {
  const values: Record<string, number> =
    whole === 'unknown' ? {} : { [canaryMetrics.canaryVerdict.name]: verdictNumbers[whole] };
  for (const { metric, verdict, live, candidate, liveCount, candidateCount, low, high } of metrics) {
    if (verdict === 'unknown' || low === null || high === null || live === null || candidate === null) continue;
    values[familyMetric(canaryMetrics.canaryQuantityVerdict, metric)] = verdictNumbers[verdict];
    values[familyMetric(canaryMetrics.canaryLive, metric)] = live;
    values[familyMetric(canaryMetrics.canaryCandidate, metric)] = candidate;
    values[familyMetric(canaryMetrics.canaryLow, metric)] = low;
    values[familyMetric(canaryMetrics.canaryHigh, metric)] = high;
    values[familyMetric(canaryMetrics.canaryLiveUsers, metric)] = liveCount;
    values[familyMetric(canaryMetrics.canaryCandidateUsers, metric)] = candidateCount;
  }
  return values;
}
