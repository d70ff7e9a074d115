import { NotFoundError, type Run } from '@agentlightning/core';
import { canaryMetrics, familyMetric, familyPart, type RunMetric } from '@agentlightning/core/metrics';
import { type DeploymentState, readDeployment } from '@agentlightning/core/protocol';
import type { MetricPoint } from '@agentlightning/core/store';
import type {
  AssessmentView,
  DeploymentDetail,
  DeploymentList,
  DeploymentSummary,
  QuantityView,
  VerdictView,
} from '../api/deployment-views.ts';
import type { DashboardStore } from './dashboard-store.ts';

const quantities: readonly QuantityView['name'][] = ['score', 'failures', 'latency', 'cost'];

/** Runs that are read at a time. */
const runsPerPage = 200;

/** Assessments that are read and shown; the earlier ones of a long trial are left out. */
const maxAssessments = 1000;

/** Reads deployments for the dashboard: their records, and the assessments that `agl serve` records as metrics. */
export class DeploymentReader {
  readonly #store: DashboardStore;

  constructor(store: DashboardStore) {
    this.#store = store;
  }

  /** All deployments of the store. */
  async list(): Promise<DeploymentList> {
    const items: DeploymentSummary[] = [];
    for (let offset = 0; ; offset += runsPerPage) {
      const page = await this.#store.queryRuns({ kind: 'deployment', limit: runsPerPage, offset });
      for (const run of page.items) {
        const state = readDeployment(run);
        if (state !== null) items.push(summaryOf(run, state, (await this.#assessments(run, state, 1)).at(-1)));
      }
      if (page.items.length < runsPerPage) return { items };
    }
  }

  /** One deployment. Throws NOT_FOUND for an unknown one, and for another run. */
  async detail(name: string): Promise<DeploymentDetail> {
    const run = await this.#store.getRun(name);
    const state = readDeployment(run);
    if (state === null) throw new NotFoundError('Deployment', name);
    const assessments = await this.#assessments(run, state, maxAssessments);
    const { versions, history } = state;
    const last = assessments.at(-1);
    return { ...summaryOf(run, state, last), versions, history: history.toReversed(), assessments };
  }

  /** The last assessments of the candidate, or of the last candidate. */
  async #assessments({ runId }: Run, state: DeploymentState, limit: number): Promise<readonly AssessmentView[]> {
    const sinceMs = state.candidate?.sinceMs ?? lastTrialMs(state);
    if (sinceMs === null) return [];
    const { items } = await this.#store.queryMetrics(runId, { sortOrder: 'desc', limit });
    return items
      .filter(({ timeMs }) => timeMs >= sinceMs)
      .toReversed()
      .map(assessmentOf);
  }
}

/** The start of the last trial; null for none. */
function lastTrialMs({ history }: DeploymentState): number | null {
  const last = history.findLastIndex(({ action }) => action === 'canary');
  if (last < 0) return null;
  // Changes of the share are entries of the same trial.
  const before = history.slice(0, last).findLastIndex(({ action }) => action !== 'canary');
  return history[before + 1]?.timeMs ?? null;
}

function summaryOf(
  { runId }: Run,
  { live, candidate, history }: DeploymentState,
  assessment: AssessmentView | undefined,
): DeploymentSummary {
  const verdict = candidate === null ? 'unknown' : (assessment?.verdict ?? 'unknown');
  return { name: runId, live, candidate, verdict, lastChange: history.at(-1) ?? null };
}

function assessmentOf({ timeMs, values }: MetricPoint): AssessmentView {
  return {
    timeMs,
    verdict: verdictOf(values[canaryMetrics.canaryVerdict.name]),
    quantities: [...quantities, ...partsOf(values)].map((name) => {
      const value = (metric: RunMetric): number | null => values[familyMetric(metric, name)] ?? null;
      return {
        name,
        verdict: verdictOf(value(canaryMetrics.canaryQuantityVerdict)),
        live: value(canaryMetrics.canaryLive),
        candidate: value(canaryMetrics.canaryCandidate),
        liveUsers: value(canaryMetrics.canaryLiveUsers) ?? 0,
        candidateUsers: value(canaryMetrics.canaryCandidateUsers) ?? 0,
        low: value(canaryMetrics.canaryLow),
        high: value(canaryMetrics.canaryHigh),
      };
    }),
  };
}

/** The parts of the reward that an assessment compares. */
function partsOf(values: MetricPoint['values']): readonly string[] {
  return Object.keys(values).flatMap((metric) => {
    const name = familyPart(canaryMetrics.canaryQuantityVerdict, metric);
    return name?.startsWith('score/') ? [name] : [];
  });
}

function verdictOf(value: number | null | undefined): VerdictView {
  if (value === undefined || value === null) return 'unknown';
  if (value > 0) return 'better';
  return value < 0 ? 'worse' : 'not-shown';
}
