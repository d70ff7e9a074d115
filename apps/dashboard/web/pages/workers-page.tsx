import type { JsonValue } from '@agentlightning/core';
import { runMetrics } from '@agentlightning/core/metrics';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunDetail, RunMetrics } from '../../src/api/run-views.ts';
import type { GatewayView, OtherWorkerView, RunnerView, UpstreamView, WorkerList } from '../../src/api/store-views.ts';
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
  {
    label: 'Policy version',
    isNumber: true,
    render: ({ metrics }) => numberText(lastOf(metrics, runMetrics.policyVersion.name)),
  },
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
      const gap = lastOf(metrics, runMetrics.policyPublishGap.name);
      if (gap === null) return 'not compared';
      return `${numberText(gap)} (${numberText(lastOf(metrics, runMetrics.policyPublishGapLimit.name))}) nats`;
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
      <WorkerTable
        title="Runners"
        columns={runnerColumns}
        rows={runners.map((runner) => ({ runner, nowMs }))}
        keyOf={({ runner }) => runner.workerId}
        isLost={({ runner }) => runner.state === 'lost'}
      />
      <WorkerTable
        title="Upstreams of gateways"
        columns={upstreamColumns}
        rows={upstreams}
        keyOf={({ gateway, upstream }) => `${gateway.workerId} ${upstream.id}`}
        isLost={({ gateway }) => gateway.isLost}
      />
      <WorkerTable
        title="Trainers and other workers"
        columns={workerColumns}
        rows={others.map((worker) => ({ worker, nowMs }))}
        keyOf={({ worker }) => worker.workerId}
        isLost={({ worker }) => worker.isLost || worker.isEnded}
      />
    </>
  );
}

/** The workers of a kind; those that have ended or stopped sending heartbeats are folded. */
function WorkerTable<TRow>(props: {
  readonly title: string;
  readonly columns: readonly DataColumn<TRow>[];
  readonly rows: readonly TRow[];
  readonly keyOf: (row: TRow) => string;
  readonly isLost: (row: TRow) => boolean;
}): ReactNode {
  const { title, columns, rows, keyOf, isLost } = props;
  const lost = rows.filter(isLost);
  const live = rows.filter((row) => !isLost(row));
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      {live.length === 0 ? null : <DataTable label={title} columns={columns} rows={live} keyOf={keyOf} />}
      {lost.length === 0 ? null : (
        <details className="folded">
          <summary>{`${lost.length} ended or without a heartbeat`}</summary>
          <DataTable label={`${title} that ended or have no heartbeat`} columns={columns} rows={lost} keyOf={keyOf} />
        </details>
      )}
    </Section>
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

/** What a worker reports, as names with values; parts of objects have their path as name. */
function Report({ worker: { heartbeatStats } }: { readonly worker: OtherWorkerView }): ReactNode {
  const facts = factsOf(heartbeatStats ?? {});
  if (facts.length === 0) return '–';
  return facts.map(([name, text]) => (
    <span key={name} className="fact">
      <span className="muted">{name}</span> {text}
    </span>
  ));
}

function factsOf(value: JsonValue, path: readonly string[] = []): readonly (readonly [name: string, text: string])[] {
  if (Array.isArray(value)) {
    const isPlain = value.every((item) => typeof item !== 'object');
    return [[path.join(' '), isPlain ? value.join(', ') : `${value.length} entries`]];
  }
  if (typeof value !== 'object' || value === null) return [[path.join(' '), value === null ? '–' : String(value)]];
  return Object.entries(value).flatMap(([name, part]) => factsOf(part, [...path, name.replaceAll('_', ' ')]));
}

const workerColumns: readonly DataColumn<{ readonly worker: OtherWorkerView; readonly nowMs: number }>[] = [
  { label: 'Worker', render: ({ worker }) => <span className="mono">{worker.workerId}</span> },
  {
    label: 'Status',
    render: ({ worker: { isEnded, isLost, status } }) => (
      <StatusBadge status={isEnded ? 'ended' : isLost ? 'lost' : status === 'unknown' ? 'running' : status} />
    ),
  },
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
    render: ({ worker }) => <Report worker={worker} />,
  },
];
