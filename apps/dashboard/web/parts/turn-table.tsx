import type { ReactNode } from 'react';
import type { ConversationTurn, RolloutDetail } from '../../src/api/rollout-views.ts';
import { numberText } from '../data/format.ts';
import { exclusionText } from '../data/token-levels.ts';
import { type DataColumn, DataTable } from './data-table.tsx';

interface TurnRow {
  readonly number: number;
  readonly turn: ConversationTurn;
  readonly training: RolloutDetail['training'][number]['calls'][number] | null;
}

/** The rewards and advantages of an attempt by model call; nothing when none is recorded. */
export function TurnTable({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  const { turns, training } = detail;
  const last = training.at(-1);
  const rows = turns.map((turn, index): TurnRow => {
    const used = last?.calls.find(({ sequenceId }) => sequenceId === turn.sequenceId) ?? null;
    return { number: index + 1, turn, training: used };
  });
  if (last === undefined && rows.every(({ turn }) => turn.rewards.length === 0)) return null;
  return (
    <section className="panel" aria-label="Rewards by turn">
      <h2>Rewards by turn{last === undefined ? '' : `, and advantages of step ${last.step}`}</h2>
      <DataTable label="Turns" columns={columns} rows={rows} keyOf={({ turn }) => turn.spanId} />
    </section>
  );
}

/** The policy versions of a call's oldest and newest token. */
function versionsText(tokens: TurnRow['turn']['tokens']): string {
  if (tokens?.policyVersion == null) return '–';
  const { policyVersion, newestPolicyVersion } = tokens;
  return policyVersion === newestPolicyVersion ? `${policyVersion}` : `${policyVersion}–${newestPolicyVersion}`;
}

const columns: readonly DataColumn<TurnRow>[] = [
  { label: 'Call', render: ({ number }) => number },
  { label: 'Agent', isWideOnly: true, render: ({ turn }) => turn.agentPath.join(' › ') || '–' },
  { label: 'Response tokens', isNumber: true, isWideOnly: true, render: ({ turn }) => turn.tokens?.response ?? '–' },
  {
    label: 'Policy version',
    isNumber: true,
    isWideOnly: true,
    render: ({ turn }) => versionsText(turn.tokens),
  },
  {
    label: 'Rewards',
    render: ({ turn: { rewards } }) =>
      rewards.map(({ name, value }) => `${name} ${numberText(value)}`).join(', ') || '–',
  },
  { label: 'Advantage', isNumber: true, render: ({ training }) => numberText(training?.advantage) },
  { label: 'Training', render: trainingText },
];

function trainingText({ turn, training }: TurnRow): string {
  if (training !== null) {
    if (training.exclusion !== null) return `not trained: ${exclusionText(training)}`;
    return training.advantage === 0 ? 'no gradient: as good as the rest of its group' : 'trained';
  }
  if (turn.tokens?.isTrainable === false)
    return `not trained: ${turn.tokens.untrainableReason ?? 'no reason recorded'}`;
  return 'no step has used it';
}
