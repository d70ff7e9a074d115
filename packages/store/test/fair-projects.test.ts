// The speed is compared in rounds of a client within one test, because whole runs compete for the cores of the machine with the
// program that attacks.
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

/**
 * Rounds of a client in a second. Between two rounds it waits as for a model: a client that waits for nothing has half of a
 * machine with two cores at best when another process uses it too, whatever the server does.
 */
async function rounds(client: StoreClient): Promise<number> {
  const { rolloutId, attempt } = await client.startRollout({ input: 1 });
  const { attemptId } = attempt;
  let count = 0;
  for (const endMs = performance.now() + 1000; performance.now() < endMs; count += 1) {
    await client.appendSpans([aSpan({ rolloutId, attemptId, spanId: `s${count}` })]);
    await client.getRollout(rolloutId);
    await systemClock.sleep(25);
  }
  return count;
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
  const attack = spawn(process.execPath, [attacker], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const statuses: string[] = [];
  await new Promise<void>((resolve) => {
    createInterface({ input: attack.stdout }).on('line', (status) => {
      statuses.push(status);
      if (statuses.length === 4) resolve();
    });
  });
  // Alternating, because other programs use the machine too.
  const total = { disturbed: 0, undisturbed: 0 };
  for (let pair = 0; pair < 4; pair += 1) {
    total.disturbed += await rounds(blue.client);
    attack.kill('SIGSTOP');
    total.undisturbed += await rounds(blue.client);
    attack.kill('SIGCONT');
  }
  attack.kill('SIGKILL');
  expect(total.disturbed / total.undisturbed).toBeGreaterThan(0.8);
  expect(statuses.filter((status) => status.startsWith('5'))).toEqual([]);
  await red.client.close();
  await blue.client.close();
  await server.close();
  await projects.close();
});
