import { ValidationError } from '@agentlightning/core';
import type { FoundRollout, RolloutSearch, RolloutSearchPage } from '@agentlightning/core/store';
import { z } from 'zod';
import { attemptedRolloutFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { type ListCursor, positionOf } from '../../sql/page.ts';
import { readNumberOrNull, readTextOrNull } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { parseSearchText } from '../../text-search/search-words.ts';
import { loadRun } from '../records/read-runs.ts';
import { countTextsToIndex } from '../records/text-index-queue.ts';
import { listRollouts } from './read-rollouts.ts';
import type { RolloutListQuery } from './rollout-list-query.ts';

const defaultLimit = 100;
const maxLimit = 1000;

/**
 * Finds rollouts. A cursor is the position of a rollout in the order, so the cost of a page does not depend on the
 * pages before it, and pages do not overlap when rollouts are added.
 *
 * @throws NotFoundError when the run does not exist
 * @throws ValidationError for an invalid text, limit or cursor
 */
export async function searchRollouts(context: OperationContext, search: RolloutSearch): Promise<RolloutSearchPage> {
  const { limit = defaultLimit, runId, cursor } = search;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxLimit) {
    throw invalid('limit', `must be an integer from 1 to ${maxLimit}, got ${limit}`);
  }
  if (runId !== undefined) await loadRun(context, runId);
  const { page } = await listRollouts(context, {
    query: listQuery(search, limit),
    // One more than requested shows whether there is another page.
    window: { rows: limit + 1, after: cursor === undefined ? null : parseCursor(cursor) },
    toItem: (row) => ({ found: foundRollout(row), position: positionOf(row) }),
  });
  const shown = page.items.slice(0, limit);
  const last = page.items.length > limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(({ found }) => found),
    nextCursor: last === undefined ? null : cursorText({ position: last.position, total: page.total }),
    total: page.total,
    unindexed: search.text === undefined ? 0 : await countTextsToIndex(context),
  };
}

/** The list of a search, by the position of rollouts in the order of creation, or by reward. */
export function listQuery(search: RolloutSearch, limit: number): RolloutListQuery {
  const { text, cursor: _cursor, sortBy = 'creation', sortOrder = 'desc', ...filters } = search;
  const isByReward = sortBy === 'reward';
  return {
    ...filters,
    ...(text === undefined ? {} : { words: parseSearchText(text) }),
    // Only rollouts with a reward.
    ...(isByReward ? { sortBy, minReward: search.minReward ?? -Number.MAX_VALUE } : {}),
    sortOrder,
    limit,
  };
}

function foundRollout(row: SqlRow): FoundRollout {
  return {
    rollout: attemptedRolloutFromRow(row),
    reward: readNumberOrNull(row, 'reward'),
    // Trusted: only this package writes it.
    label: readTextOrNull(row, 'label') as FoundRollout['label'],
  };
}

/** The position after a page. Lists by reward have no rollouts without one, so it is always that of a rollout. */
interface PagePosition extends ListCursor {
  readonly position: ReturnType<typeof positionOf>;
}

const cursorSchema = z.tuple([z.number().nullable(), z.int(), z.int().min(0)]);

/** Encodes a position as opaque text. */
function cursorText({ position, total }: PagePosition): string {
  return Buffer.from(JSON.stringify([position.value, Number(position.key), total])).toString('base64url');
}

function parseCursor(text: string): PagePosition {
  try {
    const [value, key, total] = cursorSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    return { position: { value, key }, total };
  } catch (cause) {
    const message = `${JSON.stringify(text.slice(0, 80))} is not the nextCursor of a search`;
    throw new ValidationError('Search', [{ path: 'cursor', message }], cause);
  }
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Search', [{ path, message }]);
}
