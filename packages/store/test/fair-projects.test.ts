// The time of processors that the server spends on an attack is measured, because on a machine with two cores any speed also
// depends on the program that attacks, and on others.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '@agentlightning/core/internal';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan, ManualClock } from '@agentlightning/core/testing';
import { describe, expect, test } from 'vitest';
import { createStoreServer, openProjectStores } from '../src/index.ts';
import { ServingShares } from '../src/server/limits/serving-shares.ts';
import { temporaryFolder } from './temporary-folder.ts';

const attacker = path.join(import.meta.dirname, 'fixtures/attacker.ts');
const request = (bytes = 0): Request =>
  new Request('http://localhost/', { headers: bytes === 0 ? {} : { 'content-length': String(bytes) } });

describe('a share of the serving thread', () => {
  test('a project that is alone does not wait', async () => {
    const shares = new ServingShares(new ManualClock());
    for (let index = 0; index < 100; index += 1) {
      await shares.admit('red', request());
      shares.charge('red', 100);
    }
  });

  test('a project that used more than its share waits while another works, and no longer', async () => {
    const clock = new ManualClock();
    const shares = new ServingShares(clock);
    shares.charge('red', 250);
    shares.charge('blue', 1);
    let admitted = 0;
    const waits = [1, 2].map(() => shares.admit('red', request()).then(() => (admitted += 1)));
    await shares.admit('blue', request());
    await clock.advance(900);
    expect(admitted).toBe(0);
    // The other has not used the thread for a second.
    await clock.advance(200);
    expect(admitted).toBe(2);
    await Promise.all(waits);
  });

  test('a body is paid before it is read, and waiting requests are bounded', async () => {
    const clock = new ManualClock();
    const shares = new ServingShares(clock);
    await shares.admit('red', request(32 * 2 ** 20));
    await shares.admit('blue', request());
    const gone = new AbortController();
    const waits = Array.from({ length: 256 }, () => shares.admit('red', new Request(request(), gone)));
    await expect(shares.admit('red', request())).rejects.toThrow('256 requests of project red wait');
    gone.abort();
    expect((await Promise.allSettled(waits)).every(({ status }) => status === 'rejected')).toBe(true);
  });
});

const windowMs = 3000;

/** What a client and the server have done in a window. */
interface Window {
  /** Time of processors of this process. */
  readonly busyMs: number;
  /** Rounds of the client. */
  readonly rounds: number;
}

/** Works for a window as the client of a run, which waits for its model between two rounds. */
async function windowOf(client: StoreClient): Promise<Window> {
  const { rolloutId, attempt } = await client.startRollout({ input: 1 });
  const { attemptId } = attempt;
  const startedMs = performance.now();
  const usedBefore = process.cpuUsage();
  let rounds = 0;
  for (; performance.now() < startedMs + windowMs; rounds += 1) {
    await client.appendSpans([aSpan({ rolloutId, attemptId, spanId: `s${rounds}` })]);
    await client.getRollout(rolloutId);
    await systemClock.sleep(25);
  }
  const { user, system } = process.cpuUsage(usedBefore);
  return { busyMs: (user + system) / 1000, rounds };
}

test('a project keeps its speed while another one attacks', { timeout: 60_000 }, async () => {
  await using folder = await temporaryFolder();
  const projects = await openProjectStores(`sqlite:${path.join(folder.path, 'agl.db')}`);
  const server = await createStoreServer({ store: projects.main, projects, port: 0 });
  const clientOf = async (project: string): Promise<{ readonly key: string; readonly client: StoreClient }> => {
    const { key } = await projects.main.createAccessKey({ name: 'team', role: 'trainer', project });
    return { key, client: new StoreClient({ baseUrl: server.url, apiKey: key }) };
  };
  const red = await clientOf('red');
  const blue = await clientOf('blue');
  const { rolloutId, attempt } = await red.client.startRollout({ input: 1 });
  const env = { ...process.env, URL: server.url, KEY: red.key, ROLLOUT_ID: rolloutId, ATTEMPT_ID: attempt.attemptId };
  const before = await windowOf(blue.client);
  const attack = spawn(process.execPath, [attacker], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const statuses: string[] = [];
  await new Promise<void>((resolve) => {
    createInterface({ input: attack.stdout }).on('line', (status) => {
      statuses.push(status);
      if (statuses.length === 4) resolve();
    });
  });
  const during = await windowOf(blue.client);
  attack.kill('SIGKILL');
  // The attack gets its eighth of the serving thread, beside what is not charged (sockets, collection of garbage): without shares
  // it takes all of it. Most of the other project's speed stays, whatever else the machine does.
  expect((during.busyMs - before.busyMs) / windowMs).toBeLessThan(0.4);
  expect(during.rounds / before.rounds).toBeGreaterThan(0.5);
  expect(statuses.filter((status) => status.startsWith('5'))).toEqual([]);
  await red.client.close();
  await blue.client.close();
  await server.close();
  await projects.close();
});
