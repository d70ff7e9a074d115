import type { Rollout } from '@agentlightning/core';
import {
  embedContents,
  mayEmbedContents,
  mayReferToContents,
  referredContents,
  referToContents,
} from '../../rows/embedded-contents.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readText, toJson } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';
import { lockRows } from './row-lock.ts';

/** JSON of a record of a rollout. */
export interface RolloutJson {
  readonly rolloutId: string;
  readonly json: string;
}

const contentTable = {
  table: 'contents',
  columns: { digest: 'text', content: 'text' },
  unlessKnown: ['digest'],
} as const;
const referenceTable = {
  table: 'content_references',
  columns: { rollout_id: 'text', digest: 'text' },
  unlessKnown: ['rollout_id', 'digest'],
} as const;

/**
 * Stores the contents of records of rollouts, each once, and returns their JSON with references to them. Contents
 * are kept until no rollout has a reference.
 */
export async function storeContents(
  context: OperationContext,
  records: readonly RolloutJson[],
): Promise<readonly string[]> {
  const { db } = context;
  const contents = new Map<string, string>();
  const referring = new Map<string, Set<string>>();
  const stored = records.map(({ rolloutId, json }) => {
    if (!mayEmbedContents(json)) return json;
    return referToContents(json, (digest, content) => {
      contents.set(digest, content);
      const digests = referring.get(rolloutId) ?? new Set();
      referring.set(rolloutId, digests.add(digest));
    });
  });
  if (contents.size === 0) return stored;
  const known = await knownDigests(context, [...contents.keys()]);
  // In the order of digests, as all transactions. One that stores several times may still deadlock, and is retried.
  const added = [...contents].filter(([digest]) => !known.has(digest)).toSorted(byDigest);
  if (added.length > 0) await db.insert(contentTable, added);
  const references = [...referring].flatMap(([rolloutId, digests]) =>
    [...digests].map((digest): [digest: string, rolloutId: string] => [digest, rolloutId]),
  );
  await db.insert(
    referenceTable,
    references.toSorted(byDigest).map(([digest, rolloutId]) => [rolloutId, digest]),
  );
  return stored;
}

/**
 * JSON of the input of a rollout, with references to its contents, which are stored.
 *
 * @throws ValidationError when it cannot be represented in JSON
 */
export async function storeInput(
  context: OperationContext,
  { rolloutId, input }: Pick<Rollout, 'rolloutId' | 'input'>,
): Promise<string> {
  const json = toJson(input, 'Rollout input');
  const [stored = json] = await storeContents(context, [{ rolloutId, json }]);
  return stored;
}

async function knownDigests(
  { db, dialect }: OperationContext,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  const those = dialect.isOneOf('digest', digests);
  const rows = await db.all(`SELECT digest FROM contents WHERE ${those.sql}`, those.parameters);
  return new Set(rows.map((row) => readText(row, 'digest')));
}

function byDigest([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : 1;
}

/**
 * Returns rows with the contents to which the JSON in a column refers, from one query.
 *
 * @throws AgentLightningError STORE_SCHEMA when a content is missing
 */
export async function withContents(
  { db, dialect }: OperationContext,
  rows: readonly SqlRow[],
  column: 'body' | 'input',
): Promise<readonly SqlRow[]> {
  const digests = new Set<string>();
  for (const row of rows) {
    const json = readText(row, column);
    if (mayReferToContents(json)) for (const digest of referredContents(json)) digests.add(digest);
  }
  if (digests.size === 0) return rows;
  const those = dialect.isOneOf('digest', [...digests]);
  const found = await db.all(`SELECT digest, content FROM contents WHERE ${those.sql}`, those.parameters);
  const contents = new Map(found.map((row) => [readText(row, 'digest'), readText(row, 'content')]));
  return rows.map((row) => {
    const json = readText(row, column);
    return mayReferToContents(json) ? { ...row, [column]: embedContents(json, contents) } : row;
  });
}

/**
 * Ends the references of rollouts, and deletes the contents to which no other rollout refers. Where a concurrent transaction
 * adds a reference, the foreign key aborts the later one, which is retried.
 */
export async function releaseContents(context: OperationContext, rolloutIds: readonly string[]): Promise<void> {
  const { db, dialect } = context;
  const those = dialect.isOneOf('rollout_id', rolloutIds);
  const ended = await db.all(`DELETE FROM content_references WHERE ${those.sql} RETURNING digest`, those.parameters);
  if (ended.length === 0) return;
  const digests = [...new Set(ended.map((row) => readText(row, 'digest')))];
  // Of two transactions that end the last references, the later one then sees the end of the other one.
  await lockRows(context, 'contents', digests);
  const released = dialect.isOneOf('digest', digests);
  await db.run(
    `DELETE FROM contents WHERE ${released.sql}
     AND NOT EXISTS (SELECT 1 FROM content_references AS r WHERE r.digest = contents.digest)`,
    released.parameters,
  );
}
