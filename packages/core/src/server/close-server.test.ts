import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { ManualClock } from '../testing/manual-clock.ts';
import { closeServer } from './close-server.ts';
import { listen } from './listen.ts';

/** A server with one pending request, whose response has started. */
async function serverAtWork() {
  const server = createServer();
  const port = await listen(server, 'the gateway', { host: '127.0.0.1', port: 0 });
  const call = request({ port, host: '127.0.0.1' });
  call.end();
  const [, answer] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  answer.write('half');
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const text = new Promise<string>((resolve) => {
    let read = '';
    response
      .on('data', (bytes: Buffer) => {
        read += bytes.toString();
      })
      .on('error', () => undefined)
      .on('close', () => resolve(read));
  });
  return { server, answer, text };
}

test('closing waits for pending responses', async () => {
  const { server, answer, text } = await serverAtWork();
  const clock = new ManualClock();
  const closed = closeServer(server, 1000, clock);
  answer.end(' and whole');
  await closed;
  expect(await text).toBe('half and whole');
  expect(clock.sleepers).toBe(0);
});

test('a pending response is aborted after the grace period', async () => {
  const { server, text } = await serverAtWork();
  const clock = new ManualClock();
  const closed = closeServer(server, 1000, clock);
  await clock.advance(999);
  expect(server.address()).toBeNull();
  expect(await Promise.race([text, 'still there'])).toBe('still there');
  await clock.advance(1);
  await closed;
  expect(await text).toBe('half');
});
