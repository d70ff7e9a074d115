import type { UnsolvedTask } from '@agentlightning/core/protocol';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { RunDetail, RunMetrics, SearchView, WarningView } from '../../src/api/run-views.ts';
import { ChartControls } from '../charts/chart-controls.tsx';
import { type ChartView, ChartViewContext, stepTimes } from '../charts/chart-view.ts';
import { countText, durationText, numberText } from '../data/format.ts';
import { metricsQuery, promptsQuery, runQuery } from '../data/queries.ts';
import { ConfigPanel } from '../parts/config-panel.tsx';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PublicationTable } from '../parts/publication-table.tsx';
import { RunHead } from '../parts/run-head.tsx';
import { StepScrubber } from '../parts/step-scrubber.tsx';
import { costTiles, type Tile, Tiles } from '../parts/tiles.tsx';
import { type RunSearch, runSearch } from '../run-search.ts';
import { MetricBrowser } from './metric-browser.tsx';
import { BestVersion, VersionTable } from './prompts-page.tsx';
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
  const { against = null } = search;
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
      <Stages run={run} />
      <Warnings warnings={run.runWarnings} />
      <UnsolvedTasks run={run} />
      {run.kind === 'prompt-search' ? <SearchVersions runId={runId} /> : null}
      <QueryView query={useQuery(metricsQuery(runId))}>
        {(metrics) =>
          metrics.steps.length === 0 ? (
            <NoSteps run={run} />
          ) : (
            <MetricPanels run={run} metrics={metrics} search={search} onChange={change} />
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

/** The versions of a prompt search, and what the best one changed. */
function SearchVersions({ runId }: { readonly runId: string }): ReactNode {
  return (
    <QueryView query={useQuery(promptsQuery(runId))}>
      {(prompts) =>
        prompts.versions.length === 0 ? (
          <EmptyNotice title="No version is measured yet">The first prompts appear here with their score.</EmptyNotice>
        ) : (
          <>
            <VersionTable runId={runId} prompts={prompts} selected={prompts.best} />
            <BestVersion prompts={prompts} />
          </>
        )
      }
    </QueryView>
  );
}

function NoSteps({ run: { kind } }: { readonly run: RunDetail }): ReactNode {
  if (kind !== 'training') return null;
  return <EmptyNotice title="No finished step yet">Metrics appear here after the first training step.</EmptyNotice>;
}

/** The charts of a run, and all its metrics. */
function MetricPanels(props: {
  readonly run: RunDetail;
  readonly metrics: RunMetrics;
  readonly search: RunSearch;
  readonly onChange: (changes: RunSearch) => void;
}): ReactNode {
  const { run, metrics, search, onChange } = props;
  const { metric = '', step = null, axis, smooth = 0 } = search;
  const { createTimeMs } = run;
  const view = useMemo((): ChartView => {
    const secondsAt = axis === 'time' ? stepTimes(metrics, createTimeMs) : null;
    return { step, smoothing: smooth, secondsAt };
  }, [step, smooth, axis, metrics, createTimeMs]);
  return (
    <ChartViewContext value={view}>
      <StepScrubber
        runId={run.runId}
        steps={metrics.steps}
        selected={step}
        onSelect={(next) => onChange({ step: next ?? undefined })}
      >
        <ChartControls search={search} onChange={onChange} />
      </StepScrubber>
      <RunCharts run={run} metrics={metrics} step={step} />
      <MetricBrowser metrics={metrics} step={step} search={metric} onSearch={(text) => onChange({ metric: text })} />
    </ChartViewContext>
  );
}

function tilesOf(run: RunDetail): readonly Tile[] {
  const { totalRollouts, rolloutsByStatus } = run.statistics;
  const endMs = run.liveness === 'live' ? run.nowMs : run.updateTimeMs;
  return [
    ...(run.search === null ? trainingTiles(run) : searchTiles(run, run.search)),
    { label: 'Duration', value: durationText(endMs - run.createTimeMs), note: '' },
    {
      label: 'Rollouts',
      value: countText(totalRollouts),
      note: `${rolloutsByStatus.running + rolloutsByStatus.preparing} running, ${rolloutsByStatus.failed} failed`,
    },
    ...(run.trainedTokens === null ? [] : [{ label: 'Trained tokens', value: countText(run.trainedTokens), note: '' }]),
    ...costTiles(run.cost),
  ];
}

/** Held-out and training reward, and steps; an evaluation has measured its subject only. */
function trainingTiles({ kind, step, steps, evaluations, rewardBefore, rewardAfter, ...curves }: RunDetail) {
  const last = rewardAfter ?? evaluations.findLast((each) => each.step > 0)?.reward ?? null;
  const heldOut = rewardTile('Held-out reward', rewardBefore, last);
  const isImitation = curves.lossCurve.length > 0;
  const label = isImitation ? 'Training loss' : 'Training reward';
  const curve = isImitation ? curves.lossCurve : curves.rewardCurve;
  if (kind !== 'training')
    return [
      { ...heldOut, label: 'Reward' },
      { label: 'Kind', value: kind, note: '' },
    ];
  return [
    heldOut,
    { label, value: numberText(curve.at(-1)), note: `first ${numberText(curve[0])}` },
    { label: 'Step', value: `${step} / ${steps ?? '?'}`, note: '' },
  ];
}

/** The rewards of a prompt search, its versions and what it has spent. */
function searchTiles({ rewardBefore, rewardAfter }: RunDetail, search: SearchView): readonly Tile[] {
  const { versions, best, firstScore, bestScore, rollouts, optimizerCalls, unusableReplies, measuredOn } = search;
  const validation = rewardTile('Validation reward', firstScore, bestScore);
  const heldOut = rewardTile('Held-out reward', rewardBefore, rewardAfter);
  const pending = search.hasEnded ? 'not measured' : 'measured at the end';
  return [
    ...(measuredOn === 'test' ? [{ ...heldOut, note: rewardAfter === null ? pending : heldOut.note }] : []),
    validation,
    { label: 'Versions', value: String(versions), note: best === null ? '' : `best: ${best}` },
    {
      label: 'Optimiser calls',
      value: countText(optimizerCalls),
      note: unusableReplies === 0 ? '' : `${unusableReplies} unusable`,
    },
    { label: 'Rollouts of the search', value: countText(rollouts), note: search.hasEnded ? '' : 'searching' },
  ];
}

/** A reward before and after; the last one only where nothing was measured before. */
function rewardTile(label: string, before: number | null, after: number | null): Tile {
  if (before === null) return { label, value: numberText(after), note: after === null ? 'not measured yet' : '' };
  const value = `${numberText(before)} → ${numberText(after)}`;
  if (after === null) return { label, value, note: 'not measured yet' };
  const delta = after - before;
  return { label, value, note: `${delta >= 0 ? '+' : ''}${numberText(delta)}` };
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

/** The stages of a run; nothing without. */
function Stages({ run: { stages } }: { readonly run: RunDetail }): ReactNode {
  if (stages.length === 0) return null;
  return (
    <section className="panel">
      <h2>Stages</h2>
      <ol>
        {stages.map(({ algorithm, firstStep, lastStep, startStep, ended }) => (
          <li key={firstStep}>
            {`${algorithm}, steps ${firstStep} to ${lastStep}`}
            {startStep !== null && `, from step ${startStep}`}
            {ended !== null && `, ended by ${ended}`}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The training tasks that a run has set aside, with rollouts that show why; nothing without one. */
function UnsolvedTasks({ run: { unsolvedTasks } }: { readonly run: RunDetail }): ReactNode {
  if (unsolvedTasks.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="unsolved-title">
      <h2 id="unsolved-title">{`Unsolved tasks: ${unsolvedTasks.length} set aside`}</h2>
      <p className="muted">
        No rollout has solved them: they are too hard, broken, or have a wrong answer. They are drawn only when no other
        task is left.
      </p>
      <DataTable
        label="Unsolved tasks"
        columns={unsolvedColumns}
        rows={unsolvedTasks}
        keyOf={({ task }) => String(task)}
      />
    </section>
  );
}

const unsolvedColumns: readonly DataColumn<UnsolvedTask>[] = [
  { label: 'Task', isNumber: true, render: ({ task }) => task },
  { label: 'Rollouts', isNumber: true, render: ({ rollouts }) => rollouts },
  {
    label: 'Last rollouts',
    render: ({ examples }) =>
      examples.map((rolloutId) => (
        <span key={rolloutId}>
          <Link to="/rollouts/$rolloutId" params={{ rolloutId }} className="mono">
            {rolloutId}
          </Link>{' '}
        </span>
      )),
  },
];
