import type { Worker } from '@agentlightning/core/store';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunDetail, RunMetrics } from '../../src/api/run-views.ts';
import type { GatewayView, RunnerView, UpstreamView, WorkerList } from '../../src/api/store-views.ts';
import { ageText, byteText, numberText } from '../data/format.ts';
import { metricsQuery, runQuery, runsQuery, workersQuery } from '../data/queries.ts';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { PublicationTable } from '../parts/publication-table.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';

/** Queues, runners, upstreams of gateways, published weights and other workers of the store. */
export function WorkersPage(): ReactNode {
  const rows = useLiveRuns();
  return (
    <>
      <PageTitle title="Workers" />
      <LiveRuns rows={rows} />
      <QueryView query={useQuery(workersQuery())}>{(list) => <Workers list={list} />}</QueryView>
      <Publications rows={rows} />
    </>
  );
}

/** A live run with its metrics. */
interface LiveRun {
  readonly run: RunDetail;
  readonly metrics: RunMetrics;
}

/** The live runs that are read already. */
function useLiveRuns(): readonly LiveRun[] {
  const { data } = useQuery(runsQuery());
  const runIds = (data?.items ?? []).flatMap(({ runId, liveness }) => (liveness === 'live' ? [runId] : []));
  const details = useQueries({ queries: runIds.map(runQuery) });
  const metrics = useQueries({ queries: runIds.map(metricsQuery) });
  return details.flatMap(({ data: run }, index): readonly LiveRun[] => {
    const read = metrics[index]?.data;
    return run === undefined || read === undefined ? [] : [{ run, metrics: read }];
  });
}

/** The queue and the last published weights of every live run. */
function LiveRuns({ rows }: { readonly rows: readonly LiveRun[] }): ReactNode {
  if (rows.length === 0) return null;
  return (
    <Section title="Queue and published weights">
      <DataTable label="Live runs" columns={runColumns} rows={rows} keyOf={({ run }) => run.runId} />
    </Section>
  );
}

/** The last publications of the live runs. */
function Publications({ rows }: { readonly rows: readonly LiveRun[] }): ReactNode {
  const runs = rows.flatMap(({ run }) => (run.publications.length === 0 ? [] : [run]));
  if (runs.length === 0) return null;
  return (
    <Section title="Publications of weights">
      <PublicationTable runs={runs} />
    </Section>
  );
}

function lastOf({ series }: RunMetrics, ending: string): number | null {
  const found = series.find(({ name }) => name === ending || name.endsWith(`/${ending}`));
  return found?.mean.findLast((value) => value !== null) ?? null;
}

const runColumns: readonly DataColumn<LiveRun>[] = [
  {
    label: 'Run',
    render: ({ run: { runId, name } }) => (
      <Link to="/runs/$runId" params={{ runId }} data-row="">
        {name}
      </Link>
    ),
  },
  {
    label: 'Queued',
    isNumber: true,
    render: ({ run: { statistics } }) => statistics.rolloutsByStatus.queuing + statistics.rolloutsByStatus.requeuing,
  },
  {
    label: 'Running',
    isNumber: true,
    render: ({ run: { statistics } }) => statistics.rolloutsByStatus.preparing + statistics.rolloutsByStatus.running,
  },
  { label: 'Policy version', isNumber: true, render: ({ metrics }) => numberText(lastOf(metrics, 'policy/version')) },
  {
    label: 'Published',
    isNumber: true,
    render: ({ run }) => (run.step === 0 ? '–' : ageText(run.updateTimeMs, run.nowMs)),
  },
  {
    label: 'Gap to the sampler (limit)',
    isNumber: true,
    isWideOnly: true,
    render: ({ metrics }) => {
      const gap = lastOf(metrics, 'policy/publish_gap');
      if (gap === null) return 'not compared';
      return `${numberText(gap)} (${numberText(lastOf(metrics, 'policy/publish_gap_limit'))}) nats`;
    },
  },
];

function Workers({ list: { runners, gateways, others, nowMs } }: { readonly list: WorkerList }): ReactNode {
  if (runners.length + gateways.length + others.length === 0) {
    return (
      <EmptyNotice title="No workers yet">
        Workers appear here when <code>agl train</code> or a runner uses this store.
      </EmptyNotice>
    );
  }
  const upstreams = gateways.flatMap((gateway) => gateway.upstreams.map((upstream) => ({ gateway, upstream, nowMs })));
  return (
    <>
      {runners.length === 0 ? null : (
        <Section title="Runners">
          <DataTable
            label="Runners"
            columns={runnerColumns}
            rows={runners.map((runner) => ({ runner, nowMs }))}
            keyOf={({ runner }) => runner.workerId}
          />
        </Section>
      )}
      {upstreams.length === 0 ? null : (
        <Section title="Upstreams of gateways">
          <DataTable
            label="Upstreams"
            columns={upstreamColumns}
            rows={upstreams}
            keyOf={({ gateway, upstream }) => `${gateway.workerId} ${upstream.id}`}
          />
        </Section>
      )}
      {others.length === 0 ? null : (
        <Section title="Trainers and other workers">
          <DataTable
            label="Workers"
            columns={workerColumns}
            rows={others.map((worker) => ({ worker, nowMs }))}
            keyOf={({ worker }) => worker.workerId}
          />
        </Section>
      )}
    </>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="section">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

function runText(runId: string | null): ReactNode {
  if (runId === null) return 'any';
  return (
    <Link to="/runs/$runId" params={{ runId }} className="mono">
      {runId}
    </Link>
  );
}

const runnerColumns: readonly DataColumn<{ readonly runner: RunnerView; readonly nowMs: number }>[] = [
  { label: 'Runner', render: ({ runner }) => <span className="mono">{runner.workerId}</span> },
  { label: 'State', render: ({ runner }) => <StatusBadge status={runner.state} /> },
  { label: 'Load', isNumber: true, render: ({ runner }) => `${runner.running} of ${runner.concurrency} attempts` },
  { label: 'Processes', isNumber: true, render: ({ runner }) => runner.processes },
  { label: 'Memory', isNumber: true, render: ({ runner }) => byteText(runner.memoryBytes) },
  { label: 'Run', render: ({ runner }) => runText(runner.runId) },
  { label: 'Version', isWideOnly: true, render: ({ runner }) => runner.version },
  { label: 'Process', isWideOnly: true, render: ({ runner }) => `${runner.pid} on ${runner.host}` },
  { label: 'Last heartbeat', render: ({ runner, nowMs }) => ageText(runner.lastHeartbeatTimeMs, nowMs) },
];

const upstreamColumns: readonly DataColumn<{
  readonly gateway: GatewayView;
  readonly upstream: UpstreamView;
  readonly nowMs: number;
}>[] = [
  { label: 'Upstream', render: ({ upstream }) => <span className="mono">{upstream.id}</span> },
  { label: 'Model', render: ({ upstream }) => upstream.model ?? 'as requested' },
  {
    label: 'State',
    render: ({ gateway, upstream }) => (
      <StatusBadge status={gateway.isLost ? 'lost' : gateway.isPaused ? 'paused' : upstream.isUp ? 'up' : 'down'} />
    ),
  },
  { label: 'In flight', isNumber: true, render: ({ upstream }) => upstream.inFlight },
  { label: 'Queued', isNumber: true, render: ({ upstream }) => upstream.queued },
  { label: 'Token ids', render: ({ upstream }) => upstream.tokenIds },
  { label: 'Last failure', isWideOnly: true, render: ({ upstream }) => upstream.lastFailure ?? '–' },
  { label: 'Run', render: ({ gateway }) => runText(gateway.runId) },
  {
    label: 'Gateway',
    isWideOnly: true,
    render: ({ gateway }) => `${gateway.version}, ${gateway.pid} on ${gateway.host}`,
  },
  { label: 'Last heartbeat', render: ({ gateway, nowMs }) => ageText(gateway.lastHeartbeatTimeMs, nowMs) },
];

const workerColumns: readonly DataColumn<{ readonly worker: Worker; readonly nowMs: number }>[] = [
  { label: 'Worker', render: ({ worker }) => <span className="mono">{worker.workerId}</span> },
  { label: 'Status', render: ({ worker }) => <StatusBadge status={worker.status} /> },
  { label: 'Last heartbeat', render: ({ worker, nowMs }) => ageText(worker.lastHeartbeatTimeMs, nowMs) },
  {
    label: 'Current rollout',
    render: ({ worker: { currentRolloutId } }) =>
      currentRolloutId === null ? (
        '–'
      ) : (
        <Link to="/rollouts/$rolloutId" params={{ rolloutId: currentRolloutId }} data-row="">
          {currentRolloutId}
        </Link>
      ),
  },
  { label: 'Last claim', isWideOnly: true, render: ({ worker, nowMs }) => ageText(worker.lastDequeueTimeMs, nowMs) },
  {
    label: 'Reported',
    isWideOnly: true,
    render: ({ worker }) => (
      <pre className="foreign">{worker.heartbeatStats === null ? '–' : JSON.stringify(worker.heartbeatStats)}</pre>
    ),
  },
];
