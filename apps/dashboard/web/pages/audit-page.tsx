import type { AuditAgreement, AuditFinding, AuditSeries, RunAudit } from '@agentlightning/core/protocol';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { numberText } from '../data/format.ts';
import { auditQuery, runQuery } from '../data/queries.ts';
import { DataTable } from '../parts/data-table.tsx';
import { QueryView } from '../parts/notice.tsx';
import { RunHead } from '../parts/run-head.tsx';
import { Tiles } from '../parts/tiles.tsx';

const route = getRouteApi('/runs/$runId/audit');

/** The audit of a run's reward: findings with their rollouts, and the measures by step. */
export function AuditPage(): ReactNode {
  const { runId } = route.useParams();
  const { data: run } = useQuery(runQuery(runId));
  return (
    <>
      <RunHead runId={runId} run={run} />
      <QueryView query={useQuery(auditQuery(runId))}>{(audit) => <AuditView audit={audit} />}</QueryView>
    </>
  );
}

function AuditView({ audit }: { readonly audit: RunAudit }): ReactNode {
  const { findings, series, judge, people, notes, rollouts, steps } = audit;
  return (
    <>
      <section className="panel" aria-labelledby="findings-title">
        <h2 id="findings-title">Findings</h2>
        <p className="muted">
          {findings.length === 0 ? 'No sign that the reward is exploited, ' : `${findings.length} found `}
          in {rollouts} stored rollouts of {steps.length} steps. An audit measures the run as it was.
        </p>
        {findings.map((finding) => (
          <Finding key={`${finding.code} ${finding.message}`} finding={finding} />
        ))}
      </section>
      {judge === null ? null : <Agreement title="A second judge" agreement={judge} />}
      {people === null ? null : <Agreement title="Labels of people" agreement={people} />}
      {[false, true].map((isHeldOut) => (
        <Measures key={String(isHeldOut)} series={series.filter((each) => each.isHeldOut === isHeldOut)} />
      ))}
      {notes.map((note) => (
        <p key={note} className="muted">
          {note}
        </p>
      ))}
    </>
  );
}

function Finding({ finding: { code, message, remedy, rollouts } }: { readonly finding: AuditFinding }): ReactNode {
  return (
    <article className="warning">
      <h3>
        <span className="badge" data-tone="warn">
          {code}
        </span>
      </h3>
      <p className="foreign">{message}</p>
      <p className="muted">Remedy: {remedy}</p>
      {rollouts.length === 0 ? null : (
        <p>
          Rollouts:{' '}
          {rollouts.map(({ rolloutId, reward }) => (
            <span key={rolloutId}>
              <Link to="/rollouts/$rolloutId" params={{ rolloutId }} className="mono">
                {rolloutId}
              </Link>{' '}
              ({numberText(reward)}){' '}
            </span>
          ))}
        </p>
      )}
    </article>
  );
}

function Agreement(props: { readonly title: string; readonly agreement: AuditAgreement }): ReactNode {
  const { pairs, agreement, prefersLonger, prefersEarlier } = props.agreement;
  return (
    <section className="panel" aria-label={props.title}>
      <h2>{props.title}</h2>
      <Tiles
        tiles={[
          { label: 'Agreement with the reward', value: numberText(agreement), note: `${pairs} pairs` },
          { label: 'Reward prefers the longer', value: numberText(prefersLonger), note: 'where both disagree' },
          { label: 'Reward prefers the earlier', value: numberText(prefersEarlier), note: 'where both disagree' },
        ]}
      />
    </section>
  );
}

function Measures({ series }: { readonly series: readonly AuditSeries[] }): ReactNode {
  const [first] = series;
  if (first === undefined) return null;
  const title = first.isHeldOut ? 'Held-out rollouts by step' : 'Training rollouts by step';
  return (
    <div className="panel">
      <h2>{title}</h2>
      <DataTable
        label={title}
        rows={series}
        keyOf={({ name }) => name}
        columns={[
          { label: 'Measure', render: ({ name }) => name },
          ...first.steps.map((step, index) => ({
            label: String(step),
            isNumber: true,
            render: ({ values }: AuditSeries) => numberText(values[index]),
          })),
        ]}
      />
    </div>
  );
}
