import type { RunAudit } from '@agentlightning/core/protocol';
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { DeploymentDetail, DeploymentList } from '../../src/api/deployment-views.ts';
import type { PromptVersions } from '../../src/api/prompt-views.ts';
import type { ReplayModels } from '../../src/api/replay-views.ts';
import type { CallTokens, RolloutDetail, RolloutPage, SpanView } from '../../src/api/rollout-views.ts';
import type { RunComparison, RunDetail, RunList, RunMetrics, TaskMap } from '../../src/api/run-views.ts';
import type { StoreView, WorkerList } from '../../src/api/store-views.ts';
import { type QueryValues, read } from './api-client.ts';

const segment = encodeURIComponent;

/** The store behind the dashboard. */
export const storeQuery = () =>
  queryOptions({ queryKey: ['store'], queryFn: ({ signal }) => read<StoreView>('/api/store', {}, signal) });

/** The newest runs that match filters. */
export const runsQuery = (filters: QueryValues = {}) =>
  queryOptions({
    queryKey: ['runs', filters],
    queryFn: ({ signal }) => read<RunList>('/api/runs', filters, signal),
    placeholderData: keepPreviousData,
  });

/** The differences of runs from the first one. */
export const comparisonQuery = (runIds: readonly string[]) =>
  queryOptions({
    queryKey: ['runs', 'comparison', runIds],
    queryFn: ({ signal }) => read<RunComparison>('/api/comparison', { runs: runIds.join(',') }, signal),
  });

/** One run. */
export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ['run', runId, 'detail'],
    queryFn: ({ signal }) => read<RunDetail>(`/api/runs/${segment(runId)}`, {}, signal),
  });

/** The metrics of a run. */
export const metricsQuery = (runId: string) =>
  queryOptions({
    queryKey: ['run', runId, 'metrics'],
    queryFn: ({ signal }) => read<RunMetrics>(`/api/runs/${segment(runId)}/metrics`, {}, signal),
  });

/** The rollouts of a run by task and step. */
export const tasksQuery = (runId: string) =>
  queryOptions({
    queryKey: ['run', runId, 'tasks'],
    queryFn: ({ signal }) => read<TaskMap>(`/api/runs/${segment(runId)}/tasks`, {}, signal),
  });

/** The versions of a prompt search. */
export const promptsQuery = (runId: string) =>
  queryOptions({
    queryKey: ['run', runId, 'prompts'],
    queryFn: ({ signal }) => read<PromptVersions>(`/api/runs/${segment(runId)}/prompts`, {}, signal),
  });

/** The audit of a run's reward. It reads many rollouts, so changes of the run do not repeat it. */
export const auditQuery = (runId: string) =>
  queryOptions({
    queryKey: ['audit', runId],
    queryFn: ({ signal }) => read<RunAudit>(`/api/runs/${segment(runId)}/audit`, {}, signal),
  });

/** Rollouts, page by page. */
export const rolloutsQuery = (filters: QueryValues) =>
  infiniteQueryOptions({
    queryKey: ['rollouts', filters],
    queryFn: ({ signal, pageParam }) =>
      read<RolloutPage>('/api/rollouts', { ...filters, limit: 200, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    // Each search by text indexes more rollouts.
    refetchInterval: ({ state }) => ((state.data?.pages[0]?.unindexed ?? 0) > 0 ? 1000 : false),
    placeholderData: keepPreviousData,
  });

/** The number of rollouts that match filters. */
export const totalQuery = (filters: QueryValues) =>
  queryOptions({
    queryKey: ['rollouts', 'total', filters],
    queryFn: ({ signal }) => read<RolloutPage>('/api/rollouts', { ...filters, limit: 1 }, signal),
  });

/** One rollout with the trace of an attempt. */
export const rolloutQuery = (rolloutId: string, attempt?: string) =>
  queryOptions({
    queryKey: ['rollout', rolloutId, attempt ?? 'latest'],
    queryFn: ({ signal }) => read<RolloutDetail>(`/api/rollouts/${segment(rolloutId)}`, { attempt }, signal),
    placeholderData: keepPreviousData,
  });

/** Address of a span. */
export interface SpanAddress {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly spanId: string;
}

/** A recorded span. Recorded spans do not change. */
export const spanQuery = ({ rolloutId, attemptId, spanId }: SpanAddress) =>
  queryOptions({
    queryKey: ['span', rolloutId, attemptId, spanId],
    queryFn: ({ signal }) =>
      read<SpanView>(`/api/rollouts/${segment(rolloutId)}/spans/${segment(spanId)}`, { attempt: attemptId }, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The tokens of a model call. */
export const tokensQuery = ({ rolloutId, attemptId, spanId }: SpanAddress) =>
  queryOptions({
    queryKey: ['tokens', rolloutId, attemptId, spanId],
    queryFn: ({ signal }) =>
      read<CallTokens>(
        `/api/rollouts/${segment(rolloutId)}/spans/${segment(spanId)}/tokens`,
        { attempt: attemptId },
        signal,
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The models that can repeat the requests of a rollout. */
export const replayModelsQuery = (rolloutId: string) =>
  queryOptions({
    queryKey: ['rollout', rolloutId, 'replay'],
    queryFn: ({ signal }) => read<ReplayModels>(`/api/rollouts/${segment(rolloutId)}/replay`, {}, signal),
  });

/** The deployments. Their changes are changes of runs. */
export const deploymentsQuery = () =>
  queryOptions({
    queryKey: ['runs', 'deployments'],
    queryFn: ({ signal }) => read<DeploymentList>('/api/deployments', {}, signal),
  });

/** One deployment. */
export const deploymentQuery = (name: string) =>
  queryOptions({
    queryKey: ['run', name, 'deployment'],
    queryFn: ({ signal }) => read<DeploymentDetail>(`/api/deployments/${segment(name)}`, {}, signal),
  });

/** The workers. They have no change events, so they are polled. */
export const workersQuery = () =>
  queryOptions({
    queryKey: ['workers'],
    queryFn: ({ signal }) => read<WorkerList>('/api/workers', {}, signal),
    refetchInterval: 3000,
  });
