// @module-tag long
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  type BareUpstream,
  completionBody,
  type GatewayFixture,
  respondJson,
  simpleRequest,
  startGateway,
  startUpstream,
} from './gateway-fixture.ts';

const callCount = 200;
const concurrency = 16;

/** The responses of a replica before it hangs. */
const responsesBefore = 20;

/** Time for which an agent waits for the model, in milliseconds. */
const patienceMs = 30_000;

async function answer(response: ServerResponse): Promise<void> {
  // A generation, so that calls are in flight when the replica hangs.
  await delay(20);
  respondJson(response, completionBody());
}

/** Makes all calls. @returns the errors of those that failed */
async function failuresOf(fixture: GatewayFixture): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  let started = 0;
  const work = async (): Promise<void> => {
    while (started < callCount) {
      started += 1;
      const client = fixture.client(await fixture.attempt());
      await client.chat.completions.create(simpleRequest, { timeout: patienceMs }).catch((error: unknown) => {
        failures.push(error);
      });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return failures;
}

it.concurrent.each([
  { hangs: 'everything hangs', doHealthChecksHang: true },
  { hangs: 'generations hang while health checks succeed', doHealthChecksHang: false },
])(
  'no call is lost with default settings when one of two replicas hangs: $hangs',
  async ({ doHealthChecksHang }) => {
    await using failing: BareUpstream = await startUpstream(async (response, index) => {
      // Health checks have no body.
      const isCheck = failing.requests[index]?.body === '';
      if (index < responsesBefore || (isCheck && !doHealthChecksHang)) await answer(response);
    });
    await using other = await startUpstream(answer);
    const upstream = [failing, other].map(({ baseUrl }, index) => ({
      id: 'ab'.charAt(index),
      baseUrl,
      model: 'policy',
    }));
    await using fixture = await startGateway({ upstream });
    expect(await failuresOf(fixture)).toEqual([]);
    expect(failing.requests.length).toBeGreaterThan(responsesBefore);
  },
  120_000,
);
