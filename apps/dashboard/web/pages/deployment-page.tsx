import type { DeploymentChange, ModelVersion } from '@agentlightning/core/protocol';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { AssessmentView, DeploymentDetail, QuantityView } from '../../src/api/deployment-views.ts';
import type { ChartLine } from '../charts/chart-view.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { numberText, shareText, timeText } from '../data/format.ts';
import { deploymentQuery } from '../data/queries.ts';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Tiles } from '../parts/tiles.tsx';
import { verdictName } from './deployments-page.tsx';

const route = getRouteApi('/deployments/$name');

/** One deployment: what is live, the trial of the candidate, versions and history. */
export function DeploymentPage(): ReactNode {
  const { name } = route.useParams();
  return (
    <>
      <PageTitle title={name}>
        <Link to="/rollouts" search={{ run: name }}>
          Rollouts
        </Link>
      </PageTitle>
      <QueryView query={useQuery(deploymentQuery(name))}>
        {(deployment) => <DeploymentView deployment={deployment} />}
      </QueryView>
    </>
  );
}

function DeploymentView({ deployment }: { readonly deployment: DeploymentDetail }): ReactNode {
  const { live, candidate, verdict, versions, history, assessments } = deployment;
  const tiles = [
    { label: 'Live', value: live ?? '–', note: '' },
    {
      label: 'Candidate',
      value: candidate?.version ?? '–',
      note: candidate === null ? '' : `${shareText(candidate.share)} of the users`,
    },
    {
      label: 'Verdict',
      value: candidate === null ? '–' : verdictName(verdict),
      note: candidate?.isPromotedWhenBetter === true ? 'live when shown to be better' : '',
    },
  ];
  return (
    <>
      <Tiles tiles={tiles} />
      <Trial assessments={assessments} isOver={candidate === null} />
      <section className="panel" aria-labelledby="history-title">
        <h2 id="history-title">History</h2>
        {history.length === 0 ? (
          <EmptyNotice title="No changes">Traces are collected; no version was deployed.</EmptyNotice>
        ) : (
          <DataTable label="Changes" columns={historyColumns} rows={history} keyOf={({ timeMs }) => String(timeMs)} />
        )}
      </section>
      {versions.length === 0 ? null : (
        <section className="panel" aria-labelledby="versions-title">
          <h2 id="versions-title">Versions</h2>
          <DataTable
            label="Deployed versions"
            columns={versionColumns}
            rows={versions}
            keyOf={({ version }) => version}
          />
        </section>
      )}
    </>
  );
}

/** The last assessment as a table, and the score over time. */
function Trial(props: { readonly assessments: readonly AssessmentView[]; readonly isOver: boolean }): ReactNode {
  const { assessments, isOver } = props;
  const last = assessments.at(-1);
  if (last === undefined) return null;
  return (
    <section className="panel" aria-labelledby="trial-title">
      <h2 id="trial-title">{isOver ? 'Last trial' : 'Trial'}</h2>
      <DataTable
        label="Compared quantities"
        columns={quantityColumns}
        rows={last.quantities}
        keyOf={({ name }) => name}
      />
      <p className="muted">
        Each user counts once. Parts of a score decide nothing. The bounds of the difference hold at all looks together,
        so a trial may end at any time. Assessed {timeText(last.timeMs)}.
      </p>
      <DifferenceChart assessments={assessments} />
    </section>
  );
}

/** The difference of the scores over time, with its bounds. */
function DifferenceChart({ assessments }: { readonly assessments: readonly AssessmentView[] }): ReactNode {
  const steps = useMemo(() => {
    const startMs = assessments[0]?.timeMs ?? 0;
    return assessments.map(({ timeMs }) => Math.round((timeMs - startMs) / 60_000));
  }, [assessments]);
  const lines = useMemo((): readonly ChartLine[] => {
    const scores = assessments.map(({ quantities }) => quantities.find(({ name }) => name === 'score'));
    const values = scores.map((score) => difference(score));
    const low = scores.map((score) => score?.low ?? null);
    const high = scores.map((score) => score?.high ?? null);
    return [
      { label: 'difference of the score', values, color: '--series-1', band: { low, high } },
      { label: 'no difference', values: values.map(() => 0), color: '--series-3', isLimit: true },
    ];
  }, [assessments]);
  if (assessments.length < 2 || lines[0]?.values.every((value) => value === null) !== false) return null;
  return (
    <>
      <h3>Score of the candidate minus that of the live version, by minutes</h3>
      <LineChart title="Difference of the score by minutes" steps={steps} lines={lines} />
    </>
  );
}

function difference(score: QuantityView | undefined): number | null {
  return score?.candidate == null || score.live === null ? null : score.candidate - score.live;
}

function valueText(name: QuantityView['name'], value: number | null): string {
  if (value === null) return '–';
  return name === 'failures' ? shareText(value) : `${numberText(value)}${name === 'latency' ? ' s' : ''}`;
}

const quantityColumns: readonly DataColumn<QuantityView>[] = [
  { label: 'Quantity', render: ({ name }) => name },
  { label: 'Verdict', render: ({ verdict }) => <StatusBadge status={verdictName(verdict)} /> },
  { label: 'Candidate', isNumber: true, render: ({ name, candidate }) => valueText(name, candidate) },
  { label: 'Live', isNumber: true, render: ({ name, live }) => valueText(name, live) },
  {
    label: 'Difference',
    isNumber: true,
    render: ({ name, low, high }) => (low === null ? '–' : `${valueText(name, low)} to ${valueText(name, high)}`),
  },
  {
    label: 'Users',
    isNumber: true,
    isWideOnly: true,
    render: ({ candidateUsers, liveUsers }) => `${candidateUsers} and ${liveUsers}`,
  },
];

const actions: Readonly<Record<DeploymentChange['action'], string>> = {
  promote: 'promoted',
  rollback: 'rolled back',
  canary: 'candidate',
};

const historyColumns: readonly DataColumn<DeploymentChange>[] = [
  { label: 'Time', render: ({ timeMs }) => timeText(timeMs) },
  {
    label: 'Change',
    render: ({ action, share }) => (share === null ? actions[action] : `${actions[action]}, ${shareText(share)}`),
  },
  { label: 'Version', render: ({ version }) => <span className="mono">{version}</span> },
  { label: 'Before', isWideOnly: true, render: ({ previous }) => <span className="mono">{previous ?? '–'}</span> },
  { label: 'By', render: ({ by }) => by },
  { label: 'Reason', render: ({ reason }) => reason },
];

const versionColumns: readonly DataColumn<ModelVersion>[] = [
  { label: 'Version', render: ({ version }) => <span className="mono">{version}</span> },
  { label: 'Kind', render: ({ kind }) => kind },
  {
    label: 'Run',
    render: ({ run }) =>
      run === null ? (
        '–'
      ) : (
        <Link to="/runs/$runId" params={{ runId: run }} className="mono">
          {run}
        </Link>
      ),
  },
  { label: 'Base model', isWideOnly: true, render: ({ baseModel }) => baseModel ?? '–' },
  { label: 'Held-out reward', isNumber: true, render: ({ reward }) => numberText(reward) },
];
