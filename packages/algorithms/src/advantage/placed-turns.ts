import type { Trajectory, TrajectoryRow } from '@agentlightning/core/algorithm';

/** The position of a turn in its row. */
export interface PlacedTurn {
  readonly row: TrajectoryRow;
  readonly sequenceId: number;
  /** Index of its first token among the sampled tokens of the row. */
  readonly from: number;
  /** Index after its last token. */
  readonly to: number;
}

/** The turns of a rollout, the last one first. The choices of one call are one turn. */
export function turnsLastFirst({ rows }: Trajectory): readonly (readonly PlacedTurn[])[] {
  const turns = new Map<number, PlacedTurn[]>();
  for (const turn of rows.flatMap(placedTurns)) {
    const choices = turns.get(turn.sequenceId);
    if (choices === undefined) turns.set(turn.sequenceId, [turn]);
    else choices.push(turn);
  }
  return [...turns].sort(([one], [other]) => other - one).map(([, choices]) => choices);
}

/** The turns of a row, in order. */
export function placedTurns(row: TrajectoryRow): readonly PlacedTurn[] {
  let to = 0;
  return row.trained.map(({ sequenceId, start, end }) => {
    const from = to;
    to += end - start;
    return { row, sequenceId, from, to };
  });
}
