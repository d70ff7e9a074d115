import type { TrajectoryRow } from '@agentlightning/core/algorithm';

/** A row as the teacher scores it. */
export interface TeacherRow {
  readonly row: TrajectoryRow;
  /** Whether feedback was removed from its prompt. */
  readonly isCut: boolean;
}

/**
 * A row with another prompt before its first response. Where it is longer than the teacher's context, the middle of what the
 * prompt has in addition is removed.
 *
 * @param prompt - token ids of the new prompt
 * @param maxTokens - maximum length of the row
 * @returns null where the row is too long without the addition, or none of it would remain
 */
export function teacherRow(row: TrajectoryRow, prompt: readonly number[], maxTokens: number): TeacherRow | null {
  const start = row.trained[0]?.start ?? 0;
  const excess = prompt.length + row.tokenIds.length - start - maxTokens;
  if (excess <= 0) return { row: rowAfter(row, prompt, start), isCut: false };
  const before = row.tokenIds.slice(0, start);
  const prefix = commonLength(before, prompt);
  const suffix = commonLength(before.slice(prefix).reverse(), prompt.slice(prefix).reverse());
  const kept = prompt.length - prefix - suffix - excess;
  if (kept <= 0) return null;
  const head = prefix + Math.ceil(kept / 2);
  const shortened = [...prompt.slice(0, head), ...prompt.slice(head + excess)];
  return { row: rowAfter(row, shortened, start), isCut: true };
}

/** The number of equal elements at the beginning of two lists. */
function commonLength(one: readonly number[], other: readonly number[]): number {
  const different = one.findIndex((value, index) => value !== other[index]);
  return different < 0 ? Math.min(one.length, other.length) : different;
}

function rowAfter(row: TrajectoryRow, prompt: readonly number[], start: number): TrajectoryRow {
  const shift = prompt.length - start;
  return {
    ...row,
    tokenIds: [...prompt, ...row.tokenIds.slice(start)],
    trained: row.trained.map((turn) => ({ ...turn, start: turn.start + shift, end: turn.end + shift })),
  };
}
