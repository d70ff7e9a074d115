import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { aSpan } from '../testing/a-span.ts';
import { StoreClient } from './store-client.ts';

test('spans for an Agent Lightning 0.3 server have log-probabilities in the form of its readers', async () => {
  const written: unknown[] = [];
  const server = createServer(async (incoming, response) => {
    const body = await text(incoming);
    // It has no batch endpoint, and responds to a span with the span.
    const isSpan = incoming.url?.endsWith('/spans') === true;
    if (isSpan) written.push(JSON.parse(body));
    response.writeHead(isSpan ? 200 : 404, { 'content-type': 'application/json' }).end(isSpan ? body : '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const attributes = {
    response_token_ids: [4, 5],
    'agentlightning.response_logprobs': [-0.5, -1.25],
    'agentlightning.response_tokens': ['fi', 've'],
  };
  const span = aSpan({ sequenceId: 1, attributes });
  const client = new StoreClient({ baseUrl: `http://127.0.0.1:${port}` });
  expect(await client.appendSpans([span])).toEqual([span]);
  expect(written).toMatchObject([
    { attributes: { 'logprobs.content': '[{"token":"fi","logprob":-0.5},{"token":"ve","logprob":-1.25}]' } },
  ]);
  server.closeAllConnections();
  server.close();
});
