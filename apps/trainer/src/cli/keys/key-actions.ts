import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { type AccessKey, type KeyRole, openStore, type SqlStore } from '@agentlightning/store';
import { textTable } from '../../report/text-formats.ts';
import { ServerFolder } from '../../server/server-folder.ts';
import { writeOutcome } from '../error-text.ts';

/** The flags of every `agl keys` command. */
export interface KeyFlags {
  readonly store: string;
  /** The data folder of `agl server`; instead of `store`. */
  readonly data?: string;
  readonly json?: boolean;
}

/** The flags of `agl keys create`. */
export interface CreateKeyFlags extends KeyFlags {
  readonly name: string;
  readonly role: KeyRole;
  /** @default 'default' */
  readonly project?: string;
  readonly expiresIn?: number;
}

/** Creates a key and shows it. */
export async function createKey(flags: CreateKeyFlags): Promise<void> {
  const { name, role, project, expiresIn = null } = flags;
  const { key, record } = await withKeys(flags, (store) =>
    store.createAccessKey({ name, role, lifetimeMs: expiresIn, ...(project === undefined ? {} : { project }) }),
  );
  const text = `${key}\n\nThis is the key of ${name}, with the role ${role}${record.project === null ? '' : ` in the project ${record.project}`}. It is not shown again.`;
  writeOutcome(flags, { record: { key, ...keyRecord(record) }, text });
}

/** Lists all keys, the oldest first. */
export async function listKeys(flags: KeyFlags): Promise<void> {
  const records = (await withKeys(flags, (store) => store.listAccessKeys())).map(keyRecord);
  const lines = flags.json === true ? records.map((record) => JSON.stringify(record)) : keyTable(records);
  for (const line of lines) process.stdout.write(`${line}\n`);
}

/** Revokes a key. */
export async function revokeKey(keyId: string, flags: KeyFlags): Promise<void> {
  const revoked = await withKeys(flags, (store) => store.revokeAccessKey(keyId));
  writeOutcome(flags, { record: keyRecord(revoked), text: `Revoked the key ${keyId} of ${revoked.name}.` });
}

/** Keys are created at the database only: a leaked key, even of an admin, cannot create others over the network. */
async function withKeys<TResult>(
  { store: storeUrl, data }: KeyFlags,
  work: (store: SqlStore) => Promise<TResult>,
): Promise<TResult> {
  const url = data === undefined ? storeUrl : new ServerFolder(path.resolve(data)).storeUrl;
  if (/^https?:/.test(url)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `keys are not created over the network, and ${addressText(url)} is a server`,
      remedy: 'Run it with direct access to the database: `--store sqlite:<file>` or `--store postgres://…`.',
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
  readonly role: KeyRole;
  /** Null for all projects. */
  readonly project: string | null;
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
}

function keyRecord({ keyId, name, role, project, createTimeMs, expireTimeMs, revokeTimeMs }: AccessKey): KeyRecord {
  return {
    id: keyId,
    name,
    role,
    project,
    created: timeText(createTimeMs),
    expires: expireTimeMs === null ? null : timeText(expireTimeMs),
    revoked: revokeTimeMs === null ? null : timeText(revokeTimeMs),
  };
}

function keyTable(records: readonly KeyRecord[]): readonly string[] {
  if (records.length === 0) return ['No keys yet. `agl keys create` creates one.'];
  const rows = records.map(({ id, name, role, project, created, expires, revoked }) => [
    id,
    name,
    role,
    project ?? '(all)',
    shortTime(created),
    shortTime(expires),
    shortTime(revoked),
  ]);
  return textTable(['ID', 'NAME', 'ROLE', 'PROJECT', 'CREATED', 'EXPIRES', 'REVOKED'], rows);
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function shortTime(time: string | null): string {
  return time === null ? '-' : time.slice(0, 19).replace('T', ' ');
}
