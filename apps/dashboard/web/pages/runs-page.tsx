import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RunList, RunSummary } from '../../src/api/run-views.ts';
import { costText, countText, durationText, numberText, timeText, verdictText } from '../data/format.ts';
import { runsQuery } from '../data/queries.ts';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { ScrollRegion } from '../parts/scroll-region.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { RunBadge } from '../parts/status-badge.tsx';
import { maxCompared, runIdsOf } from '../run-selection.ts';

const route = getRouteApi('/');

/** The runs of the store. */
export function RunsPage(): ReactNode {
  return (
    <>
      <PageTitle title="Runs" />
      <QueryView query={useQuery(runsQuery())}>{(list) => <RunTable list={list} />}</QueryView>
    </>
  );
}

function RunTable({ list: { items, nowMs, total } }: { readonly list: RunList }): ReactNode {
  if (items.length === 0) {
    return (
      <EmptyNotice title="No runs yet">
        Start one with <code>agl train</code> on this store. It appears here without a reload.
      </EmptyNotice>
    );
  }
  return (
    <>
      <CompareLink />
      <ScrollRegion label="Runs">
        <table>
          <thead>
            <tr>
              <th scope="col">Compare</th>
              <th scope="col">Run</th>
              <th scope="col">Status</th>
              <th scope="col" className="number">
                Step
              </th>
              <th scope="col" className="number">
                Held-out reward
              </th>
              <th scope="col" className="wide-only">
                Training reward
              </th>
              <th scope="col" className="number wide-only">
                Duration
              </th>
              <th scope="col" className="number wide-only">
                Trained tokens
              </th>
              <th scope="col" className="number wide-only">
                Cost
              </th>
              <th scope="col" className="wide-only">
                Started
              </th>
            </tr>
          </thead>
          <tbody>
            {items.map((run) => (
              <RunRow key={run.runId} run={run} nowMs={nowMs} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {total > items.length ? <p className="muted">{`The newest ${items.length} of ${total} runs.`}</p> : null}
    </>
  );
}

function RunRow({ run, nowMs }: { readonly run: RunSummary; readonly nowMs: number }): ReactNode {
  const { runId, name, step, steps, rewardBefore, rewardAfter, verdict, warnings } = run;
  const endMs = run.liveness === 'live' ? nowMs : run.updateTimeMs;
  return (
    <tr>
      <td>
        <CompareBox run={run} />
      </td>
      <td>
        <Link to="/runs/$runId" params={{ runId }} className="row-title foreign" data-row="">
          {name}
        </Link>
        <span className="muted mono">{runId}</span>
      </td>
      <td>
        <RunBadge run={run} nowMs={nowMs} />{' '}
        {warnings === 0 ? null : (
          <span className="badge" data-tone="warn">
            {warnings === 1 ? '1 warning' : `${warnings} warnings`}
          </span>
        )}
      </td>
      <td className="number">{run.kind === 'training' ? `${step}/${steps ?? '?'}` : run.kind}</td>
      <td className="number">
        {numberText(rewardBefore)} → {numberText(rewardAfter)}
        {verdict === null ? null : <span className="muted"> {verdictText(verdict)}</span>}
      </td>
      <td className="wide-only">
        <Sparkline values={run.rewardCurve} label={`Training reward, last ${numberText(run.rewardCurve.at(-1))}`} />
      </td>
      <td className="number wide-only">{durationText(endMs - run.createTimeMs)}</td>
      <td className="number wide-only">{countText(run.trainedTokens)}</td>
      <td className="number wide-only">{costText(run.cost)}</td>
      <td className="wide-only">{timeText(run.createTimeMs)}</td>
    </tr>
  );
}

function CompareLink(): ReactNode {
  const runIds = runIdsOf(route.useSearch().compare);
  if (runIds.length < 2) return null;
  return (
    <p>
      <Link to="/compare" search={{ runs: runIds.join(',') }}>
        Compare {runIds.length} runs
      </Link>
    </p>
  );
}

function CompareBox({ run: { runId, name } }: { readonly run: RunSummary }): ReactNode {
  const runIds = runIdsOf(route.useSearch().compare);
  const navigate = useNavigate();
  const isChosen = runIds.includes(runId);
  const toggle = (): void => {
    const next = isChosen ? runIds.filter((each) => each !== runId) : [...runIds, runId];
    void navigate({ to: '/', search: next.length === 0 ? {} : { compare: next.join(',') }, replace: true });
  };
  return (
    <input
      type="checkbox"
      aria-label={`Compare ${name}`}
      checked={isChosen}
      disabled={!isChosen && runIds.length >= maxCompared}
      onChange={toggle}
    />
  );
}
