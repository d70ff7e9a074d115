import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunDetail, WarningView } from '../../src/api/run-views.ts';
import { MarkedStep } from '../charts/step-marker.ts';
import { countText, durationText, numberText } from '../data/format.ts';
import { metricsQuery, runQuery } from '../data/queries.ts';
import { ConfigPanel } from '../parts/config-panel.tsx';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PublicationTable } from '../parts/publication-table.tsx';
import { RunHead } from '../parts/run-head.tsx';
import { StepScrubber } from '../parts/step-scrubber.tsx';
import { costTiles, type Tile, Tiles } from '../parts/tiles.tsx';
import { type RunSearch, runSearch } from '../run-search.ts';
import { MetricBrowser } from './metric-browser.tsx';
import { RunCharts } from './run-charts.tsx';

const route = getRouteApi('/runs/$runId');

/** One run: rewards, health, time, failures, warnings. */
export function RunPage(): ReactNode {
  const { runId } = route.useParams();
  const query = useQuery(runQuery(runId));
  return (
    <>
      <RunHead runId={runId} run={query.data} />
      <QueryView query={query}>{(run) => <RunOverview run={run} />}</QueryView>
    </>
  );
}

function RunOverview({ run }: { readonly run: RunDetail }): ReactNode {
  const search = route.useSearch();
  const { metric = '', step = null, against = null } = search;
  const navigate = useNavigate();
  const { runId } = run;
  const change = (changes: RunSearch): void =>
    void navigate({
      to: '/runs/$runId',
      params: { runId },
      search: runSearch({ ...search, ...changes }),
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <Tiles tiles={tilesOf(run)} />
      <Warnings warnings={run.runWarnings} />
      <QueryView query={useQuery(metricsQuery(runId))}>
        {(metrics) =>
          metrics.steps.length === 0 ? (
            <EmptyNotice title="No finished step yet">Metrics appear here after the first training step.</EmptyNotice>
          ) : (
            <MarkedStep value={step}>
              <StepScrubber
                runId={runId}
                steps={metrics.steps}
                selected={step}
                onSelect={(next) => change({ step: next ?? undefined })}
              />
              <RunCharts run={run} metrics={metrics} step={step} />
              <MetricBrowser
                metrics={metrics}
                step={step}
                search={metric}
                onSearch={(text) => change({ metric: text })}
              />
            </MarkedStep>
          )
        }
      </QueryView>
      {run.publications.length === 0 ? null : (
        <details className="panel">
          <summary>{`Publications of weights: the last ${run.publications.length}`}</summary>
          <PublicationTable runs={[run]} />
        </details>
      )}
      <ConfigPanel run={run} against={against} onCompare={(other) => change({ against: other ?? undefined })} />
    </>
  );
}

function tilesOf(run: RunDetail): readonly Tile[] {
  const { totalRollouts, rolloutsByStatus } = run.statistics;
  const endMs = run.liveness === 'live' ? run.nowMs : run.updateTimeMs;
  const before = run.evaluations.find(({ step }) => step === 0);
  const last = run.evaluations.findLast(({ step }) => step > 0);
  const delta = before === undefined || last === undefined ? null : last.reward - before.reward;
  return [
    {
      label: 'Held-out reward',
      value: `${numberText(before?.reward)} → ${numberText(last?.reward)}`,
      note: delta === null ? 'not measured yet' : `${delta >= 0 ? '+' : ''}${numberText(delta)}`,
    },
    {
      label: 'Training reward',
      value: numberText(run.rewardCurve.at(-1)),
      note: `first ${numberText(run.rewardCurve[0])}`,
    },
    { label: 'Step', value: run.kind === 'training' ? `${run.step} / ${run.steps ?? '?'}` : run.kind, note: '' },
    { label: 'Duration', value: durationText(endMs - run.createTimeMs), note: '' },
    {
      label: 'Rollouts',
      value: countText(totalRollouts),
      note: `${rolloutsByStatus.running + rolloutsByStatus.preparing} running, ${rolloutsByStatus.failed} failed`,
    },
    { label: 'Trained tokens', value: countText(run.trainedTokens), note: '' },
    ...costTiles(run.cost),
  ];
}

function Warnings({ warnings }: { readonly warnings: readonly WarningView[] }): ReactNode {
  if (warnings.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="warnings-title">
      <h2 id="warnings-title">Warnings</h2>
      {warnings.map(({ name, step, policy, message, cause, remedy }) => (
        <article key={`${name} ${step} ${policy} ${message}`} className="warning">
          <h3>
            <span className="badge" data-tone="warn">
              {name}
            </span>{' '}
            step {step}
            {policy === null ? '' : `, policy ${policy}`}
          </h3>
          <p className="foreign">{message}</p>
          {cause === null ? null : <p className="muted">Likely cause: {cause}</p>}
          {remedy === null ? null : <p className="muted">Remedy: {remedy}</p>}
        </article>
      ))}
    </section>
  );
}
