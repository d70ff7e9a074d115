import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { listenError } from './listen.ts';

/** The error of a failed listen call. */
async function failureAt(host: string, port: number): Promise<Error> {
  const server = createServer();
  server.listen(port, host);
  const [error] = (await once(server, 'error')) as [Error];
  return error;
}

test('a port in use and an unavailable address are different errors', async () => {
  const other = createServer();
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const taken = listenError('the gateway', { host: '127.0.0.1', port }, await failureAt('127.0.0.1', port));
  other.close();
  expect(taken).toMatchObject({
    code: 'PORT_IN_USE',
    message: `[PORT_IN_USE] the gateway cannot listen on 127.0.0.1:${port}: another program has the port`,
    details: { host: '127.0.0.1', port },
  });
  // An address of the documentation block.
  const elsewhere = listenError('the gateway', { host: '203.0.113.1', port: 0 }, await failureAt('203.0.113.1', 0));
  expect(elsewhere).toMatchObject({ code: 'CONFIG', message: expect.stringContaining('EADDRNOTAVAIL') });
});

test('an IPv6 address is in brackets, and gRPC errors are recognised', () => {
  const cause = new Error(
    'No address added out of total 1 resolved errors: [listen EADDRINUSE: address already in use]',
  );
  const error = listenError('the runtime', { host: '::1', port: 50051 }, cause);
  expect([error.code, error.message]).toEqual(['PORT_IN_USE', expect.stringContaining('[::1]:50051')]);
});
