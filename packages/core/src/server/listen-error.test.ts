import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { listenError } from './listen-error.ts';

/** What listening fails with. */
async function failureAt(host: string, port: number): Promise<Error> {
  const server = createServer();
  server.listen(port, host);
  const [error] = (await once(server, 'error')) as [Error];
  return error;
}

test('a port that another program has is told apart from an address that is not to be had', async () => {
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
  // An address of the block that is kept for documentation.
  const elsewhere = listenError('the gateway', { host: '203.0.113.1', port: 0 }, await failureAt('203.0.113.1', 0));
  expect(elsewhere).toMatchObject({ code: 'CONFIG', message: expect.stringContaining('EADDRNOTAVAIL') });
});

test('an address of version 6 is in brackets, and the words of gRPC are understood', () => {
  const cause = new Error(
    'No address added out of total 1 resolved errors: [listen EADDRINUSE: address already in use]',
  );
  const error = listenError('the runtime', { host: '::1', port: 50051 }, cause);
  expect([error.code, error.message]).toEqual(['PORT_IN_USE', expect.stringContaining('[::1]:50051')]);
});
