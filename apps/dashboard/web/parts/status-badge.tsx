import type { ReactNode } from 'react';
import type { RunSummary } from '../../src/api/run-views.ts';
import { ageText } from '../data/format.ts';

const tones: Readonly<Record<string, string>> = {
  succeeded: 'good',
  finished: 'good',
  ok: 'good',
  failed: 'bad',
  error: 'bad',
  timeout: 'bad',
  unresponsive: 'bad',
  silent: 'bad',
  lost: 'bad',
  down: 'bad',
  paused: 'warn',
  draining: 'warn',
  up: 'good',
  cancelled: 'warn',
  stopped: 'warn',
  partial: 'warn',
  abandoned: 'warn',
  requeuing: 'warn',
  better: 'good',
  worse: 'bad',
  running: 'active',
  preparing: 'active',
  busy: 'active',
};

/** A status as a coloured label. */
export function StatusBadge({ status }: { readonly status: string }): ReactNode {
  return (
    <span className="badge" data-tone={tones[status] ?? 'plain'}>
      {status}
    </span>
  );
}

/** The status of a run; a running run without heartbeats is shown as silent. */
export function RunBadge({ run, nowMs }: { readonly run: RunSummary; readonly nowMs: number }): ReactNode {
  if (run.liveness !== 'silent') return <StatusBadge status={run.status} />;
  const age = ageText(Math.max(run.heartbeatTimeMs ?? 0, run.updateTimeMs), nowMs);
  return (
    <span className="badge" data-tone="bad" title={`The trainer sent its last heartbeat ${age}`}>
      no heartbeat, {age}
    </span>
  );
}
