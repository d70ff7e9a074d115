import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { type AccessKey, type AccessScope, openStore, type SqlStore } from '@agentlightning/store';
import { textTable } from '../../report/text-table.ts';
import { writeOutcome } from '../write-outcome.ts';

/** The flags of every `agl store keys` command. */
export interface KeyFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** The flags of `agl store keys create`. */
export interface CreateKeyFlags extends KeyFlags {
  readonly name: string;
  readonly scope: AccessScope;
  readonly expiresIn?: number;
}

/** Makes a key and shows it. */
export async function createKey(flags: CreateKeyFlags): Promise<void> {
  const { name, scope, expiresIn = null } = flags;
  const { key, record } = await withKeys(flags, (store) =>
    store.createAccessKey({ name, scope, lifetimeMs: expiresIn }),
  );
  const text = `${key}\n\nThis is the key of ${name}, with the scope ${scope}. It is not shown again.`;
  writeOutcome(flags, { record: { key, ...keyRecord(record) }, text });
}

/** Lists the keys there have been, the oldest first. */
export async function listKeys(flags: KeyFlags): Promise<void> {
  const records = (await withKeys(flags, (store) => store.listAccessKeys())).map(keyRecord);
  const lines = flags.json === true ? records.map((record) => JSON.stringify(record)) : keyTable(records);
  for (const line of lines) process.stdout.write(`${line}\n`);
}

/** Makes a key worth nothing. */
export async function revokeKey(keyId: string, flags: KeyFlags): Promise<void> {
  const revoked = await withKeys(flags, (store) => store.revokeAccessKey(keyId));
  writeOutcome(flags, { record: keyRecord(revoked), text: `Revoked the key ${keyId} of ${revoked.name}.` });
}

/** Keys are made where the store is: who has one key, even of an admin, makes no other with it over the network. */
async function withKeys<TResult>(
  { store: url }: KeyFlags,
  work: (store: SqlStore) => Promise<TResult>,
): Promise<TResult> {
  if (/^https?:/.test(url)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `keys are not made over the network, and ${addressText(url)} is a server`,
      remedy: 'Run it where the store is: `--store sqlite:<file>` or `--store postgres://…`.',
    });
  }
  const store = await openStore(url);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly scope: AccessScope;
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
}

function keyRecord({ keyId, name, scope, createTimeMs, expireTimeMs, revokeTimeMs }: AccessKey): KeyRecord {
  return {
    id: keyId,
    name,
    scope,
    created: timeText(createTimeMs),
    expires: expireTimeMs === null ? null : timeText(expireTimeMs),
    revoked: revokeTimeMs === null ? null : timeText(revokeTimeMs),
  };
}

function keyTable(records: readonly KeyRecord[]): readonly string[] {
  if (records.length === 0) return ['No keys yet. `agl store keys create` makes one.'];
  const rows = records.map(({ id, name, scope, created, expires, revoked }) => [
    id,
    name,
    scope,
    shortTime(created),
    shortTime(expires),
    shortTime(revoked),
  ]);
  return textTable(['ID', 'NAME', 'SCOPE', 'CREATED', 'EXPIRES', 'REVOKED'], rows);
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function shortTime(time: string | null): string {
  return time === null ? '-' : time.slice(0, 19).replace('T', ' ');
}
