import { systemClock } from '@agentlightning/core/internal';
import { StoreClient } from '@agentlightning/core/store-client';
import { randomNumbers } from '../../../../tools/random-numbers.ts';
import { AcknowledgedWork } from './acknowledged-work.ts';
import { findLosses } from './find-losses.ts';
import { KillableServer } from './killable-server.ts';

/** A program that can be killed as `kill -9` does, and started again with its data. */
export interface Killable {
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** How to treat a store badly. */
export interface StoreChaosOptions {
  /** The store, new and empty: `sqlite:<file>` or `postgres://…`. */
  readonly location: string;
  /** Number of kills of the server. */
  readonly kills: number;
  /** The process of the database, if it can be killed, and the number of its kills. @default none */
  readonly database?: { readonly program: Killable; readonly kills: number };
  /** Number of concurrent clients. */
  readonly clients: number;
  /** Maximum number of spans that it acknowledges before the next kill. */
  readonly spansPerLife: number;
  /** Decides how long each life lasts. */
  readonly seed: number;
  /** Called after each kill. @default no callback */
  readonly onKill?: (victim: Victim, acknowledged: StoreChaosCounts) => void;
}

/** The process that a kill ends. */
export type Victim = 'server' | 'database';

/** Numbers of acknowledged records. */
export interface StoreChaosCounts {
  readonly rollouts: number;
  readonly claims: number;
  readonly spans: number;
  readonly finished: number;
  readonly steps: number;
}

/** How it went. */
export interface StoreChaosReport {
  readonly acknowledged: StoreChaosCounts;
  /** What was acknowledged and is lost, or is there twice: nothing, if all is well. */
  readonly losses: readonly string[];
}

/** Kills a store's server again and again while clients are at work, and looks for what was acknowledged. */
export async function runStoreChaos(options: StoreChaosOptions): Promise<StoreChaosReport> {
  await using server = new KillableServer(options.location);
  await server.start();
  // Patient clients: a server is back within seconds.
  const clients = Array.from(
    { length: options.clients },
    () => new StoreClient({ baseUrl: server.url, maxRetries: 30 }),
  );
  const work = clients.map((client, index) => new AcknowledgedWork(client, `run-${index}`));
  const running = Promise.all(work.map((part) => part.run()));
  const losses: string[] = [];
  const random = randomNumbers(options.seed);
  const killing = (async () => {
    for (const victim of victimsOf(options)) {
      // Wait for work that is acknowledged in this life, so that every kill has something to destroy.
      await untilMoreIsAcknowledged(work, Math.floor(random() * options.spansPerLife));
      const program = victim === 'server' ? server : (options.database?.program ?? fail());
      await program.kill();
      await program.start();
      options.onKill?.(victim, countAll(work));
    }
  })();
  // A failure of either ends the other: its work would never be completed.
  await Promise.race([killing, running]);
  for (const part of work) part.stop();
  await running;
  for (const [index, part] of work.entries()) losses.push(...(await findLosses(clients[index] ?? fail(), part)));
  for (const client of clients) await client.close();
  return { acknowledged: countAll(work), losses };
}

/** The order of the kills: the database's kills are spread evenly over those of the server. */
function victimsOf({ kills, database }: Pick<StoreChaosOptions, 'kills' | 'database'>): readonly Victim[] {
  const all = kills + (database?.kills ?? 0);
  const share = (database?.kills ?? 0) / Math.max(1, all);
  return Array.from({ length: all }, (_, index) =>
    Math.floor((index + 1) * share) > Math.floor(index * share) ? 'database' : 'server',
  );
}

async function untilMoreIsAcknowledged(work: readonly AcknowledgedWork[], more: number): Promise<void> {
  const before = countAll(work).spans;
  while (countAll(work).spans <= before + more) await systemClock.sleep(5);
}

function countAll(work: readonly AcknowledgedWork[]): StoreChaosCounts {
  const rollouts = work.flatMap((part) => [...part.rollouts.values()]);
  return {
    rollouts: rollouts.length,
    claims: rollouts.filter((rollout) => rollout.attemptId !== null).length,
    spans: rollouts.reduce((total, rollout) => total + rollout.spanIds.length, 0),
    finished: rollouts.filter((rollout) => rollout.isFinished).length,
    steps: work.reduce((total, part) => total + part.steps.length, 0),
  };
}

function fail(): never {
  throw new Error('nothing is missing that was asked for');
}
