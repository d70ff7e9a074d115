import { once } from 'node:events';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { Http2SessionManager } from '@connectrpc/connect-node';
import { expect, it, onTestFinished, vi } from 'vitest';
import { aBatch } from '../src/testing/index.ts';
import { openRawClient, refusalOf } from '../src/testing/raw-client.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';

it('closes the stream of an upload that ended early', async () => {
  const { rawModel } = await serveGatedRuntime();
  const requests = vi.spyOn(Http2SessionManager.prototype, 'request');
  onTestFinished(() => requests.mockRestore());
  const model = await rawModel();
  const { header } = model.upload(1, aBatch([1]));
  requests.mockClear();
  const sending = model.send({ header: { ...header, payloadBytes: 0xffff_ffff }, payload: null });
  expect(await refusalOf(sending)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  const stream: ClientHttp2Stream | undefined = await requests.mock.results[0]?.value;
  await vi.waitFor(() => expect(stream?.closed).toBe(true));
});

it('rejects a call whose authority is not a host name and continues to serve', async () => {
  const { server } = await serveGatedRuntime();
  const session = connect(`http://${server.address}`);
  onTestFinished(() => session.close());
  const call = session.request({ ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', ':authority': '[' });
  const [headers] = await once(call.end(), 'response');
  expect(headers[':status']).toBe(400);
  const client = openRawClient(server.address);
  onTestFinished(() => client.close());
  await client.health.check({});
});
