import { respondWith } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { simpleRequest, startGateway } from './gateway-fixture.ts';

/** A chunked body, whose length is not declared. */
function chunked(text: string): RequestInit {
  const body = new Blob([text]).stream();
  return { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json' } } as RequestInit;
}

test('a body of unknown length is accepted', async () => {
  await using fixture = await startGateway({ script: [respondWith('5')] });
  const response = await fetch(`${fixture.gateway.url}/v1/chat/completions`, chunked(JSON.stringify(simpleRequest)));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: '5' } }] });
});

test('a body of unknown length is rejected once it exceeds the limit', async () => {
  await using fixture = await startGateway({ script: [], maxBodyBytes: 100 });
  const response = await fetch(`${fixture.gateway.url}/v1/chat/completions`, chunked('x'.repeat(101)));
  expect(response.status).toBe(413);
  expect(fixture.model.requests).toEqual([]);
});
