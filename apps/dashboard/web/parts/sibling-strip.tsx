import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RolloutDetail } from '../../src/api/rollout-views.ts';
import { numberText } from '../data/format.ts';

/** The rollouts of the same group with their rewards. */
export function SiblingStrip({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  const { siblings, rollout } = detail;
  if (siblings.length < 2) return null;
  const { runId, taskIndex, step } = rollout;
  return (
    <nav className="tabs" aria-label="Rollouts of the same group">
      <span className="muted">Group:</span>
      {siblings.map(({ rolloutId, reward, status }, index) => (
        <Link
          key={rolloutId}
          to="/rollouts/$rolloutId"
          params={{ rolloutId }}
          aria-current={rolloutId === rollout.rolloutId ? 'page' : false}
          title={`${rolloutId}, ${status}`}
        >
          {`#${index + 1} ${reward === null ? status : numberText(reward)}`}
        </Link>
      ))}
      {runId === null || taskIndex === null || step === null ? null : (
        <Link to="/runs/$runId/tasks" params={{ runId }} search={{ task: taskIndex, step }}>
          side by side
        </Link>
      )}
    </nav>
  );
}
