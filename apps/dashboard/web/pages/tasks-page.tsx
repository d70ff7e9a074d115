import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type CSSProperties, type ReactNode, useMemo } from 'react';
import type { RolloutDetail } from '../../src/api/rollout-views.ts';
import type { TaskMap } from '../../src/api/run-views.ts';
import { HeatMap, type HeatMapPosition } from '../charts/heat-map.tsx';
import { numberText } from '../data/format.ts';
import { rolloutQuery, rolloutsQuery, runQuery, tasksQuery } from '../data/queries.ts';
import { EmptyNotice, QueryView } from '../parts/notice.tsx';
import { RunHead } from '../parts/run-head.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { TextDifference } from '../parts/text-difference.tsx';

const route = getRouteApi('/runs/$runId/tasks');

/** Number of siblings whose responses are read. */
const maxSiblings = 12;

/** The rewards of a run by task and step, and the rollouts of one group side by side. */
export function TasksPage(): ReactNode {
  const { runId } = route.useParams();
  const { data: run } = useQuery(runQuery(runId));
  return (
    <>
      <RunHead runId={runId} run={run} />
      <QueryView query={useQuery(tasksQuery(runId))}>{(map) => <TaskMapView runId={runId} map={map} />}</QueryView>
    </>
  );
}

function TaskMapView({ runId, map }: { readonly runId: string; readonly map: TaskMap }): ReactNode {
  const search = route.useSearch();
  const { task, step, compare, order } = search;
  const shown = useMemo(() => (order === 'reward' ? lowestFirst(map) : map), [map, order]);
  const navigate = useNavigate();
  const select = (position: HeatMapPosition): void =>
    void navigate({
      to: '/runs/$runId/tasks',
      params: { runId },
      search: { ...search, ...position, compare, order },
      replace: true,
      resetScroll: false,
    });
  if (map.tasks.length === 0) {
    return (
      <EmptyNotice title="No training rollouts yet">
        Rollouts of training steps appear here by task and step, with their rewards.
      </EmptyNotice>
    );
  }
  const selected = task === undefined || step === undefined ? null : { task, step };
  return (
    <>
      <section className="panel" aria-labelledby="map-title">
        <h2 id="map-title">Mean reward by task and step</h2>
        <p>
          <Link
            to="/runs/$runId/tasks"
            params={{ runId }}
            search={{ ...search, order: order === 'reward' ? undefined : 'reward' }}
            replace
            resetScroll={false}
          >
            {order === 'reward' ? 'Sort tasks by number' : 'Sort tasks by reward, lowest first'}
          </Link>
        </p>
        <HeatMap map={shown} selected={selected} onSelect={select} />
        <p className="scale">
          {numberText(map.range?.[0])} <i /> {numberText(map.range?.[1])}
          <span>
            Rows are tasks, columns are steps: a task has a cell where a step drew it. Grey cells have no reward.
          </span>
        </p>
      </section>
      {selected === null ? (
        <EmptyNotice title="No cell selected">Select a cell to compare the rollouts of its group.</EmptyNotice>
      ) : (
        <Group runId={runId} map={map} position={selected} />
      )}
    </>
  );
}

/** The tasks by the mean of their rewards in all steps, lowest first; tasks without a reward come last. */
function lowestFirst(map: TaskMap): TaskMap {
  const meanOf = ({ cells }: TaskMap['tasks'][number]): number => {
    const rewards = cells.flatMap(({ reward }) => reward ?? []);
    return rewards.length === 0
      ? Number.POSITIVE_INFINITY
      : rewards.reduce((sum, each) => sum + each, 0) / rewards.length;
  };
  return { ...map, tasks: map.tasks.toSorted((one, other) => meanOf(one) - meanOf(other)) };
}

function Group(props: {
  readonly runId: string;
  readonly map: TaskMap;
  readonly position: HeatMapPosition;
}): ReactNode {
  const { runId, map, position } = props;
  const { task, step } = position;
  const row = map.tasks.find(({ taskIndex }) => taskIndex === task);
  const cell = row?.cells.find((each) => each.step === step);
  const query = useInfiniteQuery(rolloutsQuery({ run: runId, task, step, mode: 'train', sort: 'oldest' }));
  const rollouts = query.data?.pages[0]?.items ?? [];
  const details = useQueries({
    queries: rollouts.slice(0, maxSiblings).map(({ rolloutId }) => rolloutQuery(rolloutId)),
  });
  const { compare } = route.useSearch();
  const best = highestReward(details.flatMap(({ data }) => data ?? []));
  const base = compare === 'best' && best !== null ? responseOf(best) : null;
  return (
    <section aria-labelledby="group-title">
      <h2 id="group-title">
        Task {task}, step {step}
      </h2>
      <p role="status">
        {cell === undefined
          ? 'The task is not part of this step.'
          : `Mean reward ${numberText(cell.reward)}, spread ${numberText(cell.spread)}, ${cell.rollouts} rollouts, ${cell.failed} failed.`}
      </p>
      <p className="foreign mono">{row?.preview}</p>
      {cell?.spread === 0 ? <p className="muted">All rewards are equal: this group gives no learning signal.</p> : null}
      <p>
        <Link
          to="/runs/$runId/tasks"
          params={{ runId }}
          search={(search) => ({ ...search, compare: compare === 'best' ? undefined : 'best' })}
          replace
          resetScroll={false}
        >
          {compare === 'best' ? 'Hide differences' : 'Compare with the highest reward'}
        </Link>
      </p>
      <QueryView query={query}>
        {() => (
          <div className="siblings">
            {details.flatMap(({ data }) =>
              data === undefined
                ? []
                : [<Sibling key={data.rollout.rolloutId} detail={data} map={map} base={data === best ? null : base} />],
            )}
          </div>
        )}
      </QueryView>
      {rollouts.length > maxSiblings ? (
        <p>
          <Link to="/rollouts" search={{ run: runId, task, step }}>
            All {rollouts.length} rollouts of this group
          </Link>
        </p>
      ) : null}
    </section>
  );
}

/** The rollout with the highest reward; null when none has one. */
function highestReward(details: readonly RolloutDetail[]): RolloutDetail | null {
  return details.reduce<RolloutDetail | null>((best, detail) => {
    const { reward } = detail.rollout;
    return reward !== null && reward > (best?.rollout.reward ?? Number.NEGATIVE_INFINITY) ? detail : best;
  }, null);
}

/** The text of the last response. */
function responseOf({ turns }: RolloutDetail): string {
  const output = turns.at(-1)?.outputMessages ?? [];
  return output.flatMap(({ parts }) => parts.map((part) => part.text)).join('\n');
}

/** The mean advantage of the trained calls in the last step that used the rollout; null when none is recorded. */
function advantageOf({ training }: RolloutDetail): number | null {
  const advantages = (training.at(-1)?.calls ?? []).flatMap(({ advantage }) => advantage ?? []);
  return advantages.length === 0 ? null : advantages.reduce((sum, value) => sum + value, 0) / advantages.length;
}

function Sibling(props: {
  readonly detail: RolloutDetail;
  readonly map: TaskMap;
  /** The text that its response is compared with; null for none. */
  readonly base: string | null;
}): ReactNode {
  const { detail, map, base } = props;
  const { rolloutId, status, reward, failure } = detail.rollout;
  const advantage = advantageOf(detail);
  const text = responseOf(detail);
  return (
    <article className="sibling" style={toneOf(reward, map)}>
      <h3>
        <Link to="/rollouts/$rolloutId" params={{ rolloutId }} data-row="" className="mono">
          {rolloutId}
        </Link>{' '}
        <StatusBadge status={status} />
      </h3>
      <p>
        Reward <strong>{numberText(reward)}</strong>
        <span className="muted">
          {advantage === null ? '' : ` · advantage ${numberText(advantage)}`}
          {` · ${detail.turns.length} model ${detail.turns.length === 1 ? 'call' : 'calls'}`}
        </span>
      </p>
      {failure === null ? null : <p className="error foreign">{failure.message}</p>}
      {base === null ? <pre className="foreign">{text}</pre> : <TextDifference text={text} base={base} />}
    </article>
  );
}

function toneOf(reward: number | null, { range }: TaskMap): CSSProperties {
  if (reward === null || range === null) return {};
  const [low, high] = range;
  const share = high === low ? 1 : (reward - low) / (high - low);
  const color = share > 0.66 ? '--heat-high' : share < 0.34 ? '--heat-low' : '--heat-middle';
  return { '--tone': `var(${color})` } as CSSProperties;
}
