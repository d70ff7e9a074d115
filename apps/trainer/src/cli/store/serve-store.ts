import { addressText } from '@agentlightning/core/internal';
import type { RetentionPolicy } from '@agentlightning/core/store';
import { type AttemptQuotas, createStoreServer, openProjectStores } from '@agentlightning/store';
import { type CommandTelemetry, withTelemetry } from '../../metrics/command-telemetry.ts';
import { tokensOfStoreFile } from '../../runtime/attempt-secret.ts';
import { attemptTokensFromEnvironment } from '../serve/attempt-token-secret.ts';
import { serverLog } from '../serve/server-log.ts';
import { untilStopped } from '../serve/until-stopped.ts';

/** Time for which idle connections stay open on shutdown, for requests in transit, in milliseconds. */
const idleGraceMs = 1000;

/** Recommended minimum length of a key, in characters. */
const minKeyLength = 20;

/** The flags of `agl store`. */
export interface StoreFlags extends Partial<AttemptQuotas> {
  readonly db: string;
  readonly host: string;
  readonly port: number;
  readonly pruneOlderThan?: number;
  readonly pruneKeepRuns?: number;
  readonly pruneTraces?: Readonly<Record<string, number>>;
}

/** Serves a store until the process is stopped. */
export async function serveStore(flags: StoreFlags): Promise<void> {
  await withTelemetry('agl-store', (telemetry) => serveWith(flags, telemetry));
}

async function serveWith(flags: StoreFlags, { registry, logStream }: CommandTelemetry): Promise<void> {
  const { db, host, port } = flags;
  const log = serverLog('agl-store', logStream);
  const projects = await openProjectStores(db, { retention: retentionOf(flags), quotas: quotasOf(flags) });
  try {
    const { main: store } = projects;
    const apiKey = process.env['AGL_STORE_KEY'] ?? null;
    const attemptTokens = attemptTokensFromEnvironment() ?? (await tokensOfStoreFile(db));
    const server = await createStoreServer({
      store,
      projects,
      host,
      port,
      apiKey,
      attemptTokens,
      log,
      idleGraceMs,
      registry,
    });
    const isLocked = apiKey !== null || (await store.hasAccessKeys());
    log.info({ url: server.url, db: addressText(db), key: isLocked, tokens: attemptTokens !== null }, 'store is up');
    if (apiKey !== null && apiKey.length < minKeyLength) log.warn('AGL_STORE_KEY is too short');
    if (!isLocked)
      log.warn(
        'the store has no key: it accepts requests from this machine only, from every user and with full access',
      );
    // Before the ready line, after which a signal may arrive.
    const stopped = untilStopped(() => server.close());
    process.stdout.write(`${JSON.stringify({ type: 'ready', url: server.url })}\n`);
    await stopped;
  } finally {
    await projects.close();
  }
  log.info('store has stopped');
}

function retentionOf({ pruneOlderThan, pruneKeepRuns, pruneTraces }: StoreFlags): RetentionPolicy | null {
  if ((pruneOlderThan ?? pruneKeepRuns ?? pruneTraces) === undefined) return null;
  return {
    ...(pruneOlderThan === undefined ? {} : { olderThanMs: pruneOlderThan }),
    ...(pruneKeepRuns === undefined ? {} : { keepRuns: pruneKeepRuns }),
    ...(pruneTraces === undefined ? {} : { traces: pruneTraces }),
  };
}

const quotaNames = [
  'maxAttemptSpans',
  'maxAttemptBytes',
  'maxSpanBytes',
  'maxSpanEvents',
  'maxRewardDimensions',
] as const satisfies readonly (keyof AttemptQuotas)[];

function quotasOf(flags: StoreFlags): Partial<AttemptQuotas> {
  return Object.fromEntries(quotaNames.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])));
}
