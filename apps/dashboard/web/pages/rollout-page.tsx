import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { rolloutQuery } from '../data/queries.ts';
import { Conversation } from '../parts/conversation.tsx';
import { QueryView } from '../parts/notice.tsx';
import { PageTitle } from '../parts/page-title.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';

const route = getRouteApi('/rollouts/$rolloutId');

/** One rollout. */
export function RolloutPage(): ReactNode {
  const { rolloutId } = route.useParams();
  const query = useQuery(rolloutQuery(rolloutId));
  return (
    <>
      <PageTitle title={rolloutId}>
        {query.data === undefined ? null : <StatusBadge status={query.data.rollout.status} />}
      </PageTitle>
      <QueryView query={query}>{({ turns }) => <Conversation turns={turns} />}</QueryView>
    </>
  );
}
