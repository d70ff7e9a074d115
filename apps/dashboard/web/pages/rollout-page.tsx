import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RolloutDetail } from '../../src/api/rollout-views.ts';
import { durationText, numberText } from '../data/format.ts';
import { rolloutQuery } from '../data/queries.ts';
import { AnnotationBar } from '../parts/annotation-bar.tsx';
import { AttemptList } from '../parts/attempt-list.tsx';
import { Conversation } from '../parts/conversation.tsx';
import { type DataColumn, DataTable } from '../parts/data-table.tsx';
import { QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { SiblingStrip } from '../parts/sibling-strip.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { costTiles, type Tile, Tiles } from '../parts/tiles.tsx';
import { rolloutViews, viewLabels } from '../rollout-views.ts';
import { RawView } from './raw-view.tsx';
import { ReplayView } from './replay-view.tsx';
import { TokenView } from './token-view.tsx';
import { TraceView } from './trace-view.tsx';

const route = getRouteApi('/rollouts/$rolloutId');

/** One rollout: conversation, trace, tokens, raw requests. */
export function RolloutPage(): ReactNode {
  const { rolloutId } = route.useParams();
  const { attempt } = route.useSearch();
  const query = useQuery(rolloutQuery(rolloutId, attempt));
  const rollout = query.data?.rollout;
  return (
    <>
      <PageTitle title={rolloutId}>
        {rollout === undefined ? null : <StatusBadge status={rollout.status} />}
        {rollout?.runId == null ? null : (
          <Link to="/runs/$runId" params={{ runId: rollout.runId }} className="mono">
            {rollout.runId}
          </Link>
        )}
      </PageTitle>
      <QueryView query={query}>{(detail) => <RolloutContents detail={detail} />}</QueryView>
    </>
  );
}

function RolloutContents({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  const { view = 'messages', ...search } = route.useSearch();
  const { rolloutId, failure } = detail.rollout;
  const annotation = <AnnotationBar detail={detail} queue={search.queue} />;
  return (
    <>
      <Tiles tiles={tilesOf(detail)} />
      {failure === null ? null : (
        <section className="notice" role="alert">
          <h2>{failure.origin === 'agent' ? 'The agent failed' : 'The infrastructure failed'}</h2>
          <p className="foreign">
            {failure.code}: {failure.message}
          </p>
        </section>
      )}
      <SiblingStrip detail={detail} />
      {search.queue === undefined ? null : annotation}
      <AttemptList detail={detail} />
      <nav className="tabs" aria-label="Views of the attempt">
        {rolloutViews.map((name) => (
          <Link
            key={name}
            to="/rollouts/$rolloutId"
            params={{ rolloutId }}
            search={{ ...search, view: name }}
            resetScroll={false}
            aria-current={name === view ? 'page' : false}
          >
            {viewLabels[name]}
          </Link>
        ))}
      </nav>
      {detail.isTruncated ? (
        <p className="muted">{`The attempt has ${detail.totalSpans} spans; later ones are left out.`}</p>
      ) : null}
      {view === 'messages' ? <Conversation detail={detail} /> : null}
      {view === 'messages' || view === 'task' ? <ScoreTable scored={detail.scored} /> : null}
      {view === 'trace' ? <TraceView trace={detail.trace} /> : null}
      {view === 'tokens' ? <TokenView detail={detail} /> : null}
      {view === 'raw' ? <RawView detail={detail} /> : null}
      {view === 'replay' ? <ReplayView detail={detail} /> : null}
      {view === 'task' ? <TaskView detail={detail} /> : null}
      {search.queue === undefined ? annotation : null}
    </>
  );
}

function TaskView({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  return (
    <section className="panel" aria-labelledby="task-title">
      <h2 id="task-title">Task input</h2>
      <pre className="foreign">{JSON.stringify(detail.input, null, 2)}</pre>
      <h2>Metadata</h2>
      <pre className="foreign">{JSON.stringify(detail.metadata, null, 2)}</pre>
    </section>
  );
}

function tilesOf({ rollout, rewards, turns, cost }: RolloutDetail): readonly Tile[] {
  const { startTimeMs, endTimeMs, step, taskIndex, mode } = rollout;
  const responseTokens = turns.reduce((sum, { tokens }) => sum + (tokens?.response ?? 0), 0);
  return [
    {
      label: 'Reward',
      value: numberText(rollout.reward),
      note: rewards.length < 2 ? '' : rewards.map(({ name, value }) => `${name} ${numberText(value)}`).join(', '),
    },
    { label: 'Task', value: String(taskIndex ?? '–'), note: '' },
    { label: 'Step', value: String(step ?? '–'), note: mode ?? '' },
    {
      label: 'Duration',
      value: durationText(endTimeMs === null ? null : endTimeMs - startTimeMs),
      note: 'with queueing',
    },
    { label: 'Model calls', value: String(turns.length), note: `${responseTokens} response tokens` },
    ...costTiles(cost),
  ];
}

interface ScoreRow {
  readonly part: string;
  readonly score: number | null;
  readonly reason: string | null;
}

const scoreColumns: readonly DataColumn<ScoreRow>[] = [
  { label: 'Part', render: ({ part }) => part },
  { label: 'Score', isNumber: true, render: ({ score }) => (score === null ? 'missing' : numberText(score)) },
  { label: 'Reason', render: ({ reason }) => <span className="foreign">{reason ?? '–'}</span> },
];

/** What the agent returned, and the scores of the parts of the reward; nothing where no configured reward scores outputs. */
function ScoreTable({ scored }: Pick<RolloutDetail, 'scored'>): ReactNode {
  if (scored === null) return null;
  const rows = Object.entries(scored.scores).map(([part, score]) => ({ part, ...score }));
  const { output } = scored;
  return (
    <section className="panel" aria-label="Output">
      <h2>Scores of the output</h2>
      {output === undefined ? null : (
        <pre className="foreign">{typeof output === 'string' ? output : JSON.stringify(output, null, 2)}</pre>
      )}
      <DataTable label="Scores" columns={scoreColumns} rows={rows} keyOf={({ part }) => part} />
    </section>
  );
}
