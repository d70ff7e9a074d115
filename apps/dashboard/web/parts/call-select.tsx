import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ConversationTurn, RolloutDetail } from '../../src/api/rollout-views.ts';
import { EmptyNotice } from './notice.tsx';

const route = getRouteApi('/rollouts/$rolloutId');

/** A choice of one of the model calls of an attempt; the URL has the chosen one. */
export function CallSelect(props: {
  readonly detail: RolloutDetail;
  readonly children: (turn: ConversationTurn, attemptId: string) => ReactNode;
}): ReactNode {
  const { detail, children } = props;
  const search = route.useSearch();
  const navigate = useNavigate();
  const { turns, attemptId, rollout } = detail;
  const turn = turns.find(({ spanId }) => spanId === search.call) ?? turns.at(-1);
  if (turn === undefined || attemptId === null) {
    return (
      <EmptyNotice title="No model calls">
        The attempt has recorded none. Check that the agent calls the model through the gateway.
      </EmptyNotice>
    );
  }
  const select = (call: string): void =>
    void navigate({
      to: '/rollouts/$rolloutId',
      params: { rolloutId: rollout.rolloutId },
      search: { ...search, call },
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <div className="filters">
        <label>
          Model call
          <select value={turn.spanId} onChange={({ target }) => select(target.value)}>
            {turns.map(({ spanId, model }, index) => (
              <option key={spanId} value={spanId}>{`${index + 1} of ${turns.length}: ${model}`}</option>
            ))}
          </select>
        </label>
      </div>
      {children(turn, attemptId)}
    </>
  );
}
