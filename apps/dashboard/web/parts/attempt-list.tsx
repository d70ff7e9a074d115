import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RolloutDetail } from '../../src/api/rollout-views.ts';
import { durationText } from '../data/format.ts';
import { StatusBadge } from './status-badge.tsx';

const route = getRouteApi('/rollouts/$rolloutId');

/** The attempts of a rollout, when there are several. */
export function AttemptList({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  const search = route.useSearch();
  if (detail.attempts.length < 2) return null;
  return (
    <nav className="tabs" aria-label="Attempts">
      {detail.attempts.map(({ attemptId, sequenceId, status, workerId, startTimeMs, endTimeMs }) => (
        <Link
          key={attemptId}
          to="/rollouts/$rolloutId"
          params={{ rolloutId: detail.rollout.rolloutId }}
          search={{ ...search, attempt: attemptId }}
          aria-current={attemptId === detail.attemptId ? 'page' : false}
          title={`${attemptId}, worker ${workerId ?? 'unknown'}`}
        >
          {`Attempt ${sequenceId} `}
          <StatusBadge status={status} />
          {` ${durationText(endTimeMs === null ? null : endTimeMs - startTimeMs)}`}
        </Link>
      ))}
    </nav>
  );
}
