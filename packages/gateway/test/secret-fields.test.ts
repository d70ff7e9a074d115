import { respondWith } from '@agentlightning/core/testing';
import { describe, expect, it } from 'vitest';
import { simpleRequest, startGateway } from './gateway-fixture.ts';

const secret = `sk-${'secret'.repeat(10_000)}`;
const credentials = {
  api_key: secret,
  extra_headers: { Authorization: `Bearer ${secret}` },
  metadata: { providers: [[{ 'X-Api-Key': secret }], { password: [secret] }] },
};

describe('credentials in the body of a model call', () => {
  it.each([
    ['unstreamed', false],
    ['streamed', true],
  ])('reach the upstream and are not recorded, when the call is %s', async (_, stream) => {
    await using fixture = await startGateway({ script: () => respondWith('5'), secretFields: ['tenant_token'] });
    const attempt = await fixture.attempt();
    const body = { ...simpleRequest, ...credentials, tenantToken: secret, stream };
    const url = `${fixture.baseUrl(attempt)}/chat/completions`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    await response.text();
    await fixture.gateway.drain();
    expect(fixture.model.requests[0]?.body).toMatchObject({ ...credentials, tenantToken: secret });
    const spans = await fixture.spans(attempt);
    expect(JSON.stringify(spans)).not.toContain('secretsecret');
    expect(await fixture.calls(attempt)).toMatchObject([
      {
        isTrainable: true,
        request: {
          ...simpleRequest,
          api_key: '…',
          extra_headers: '…',
          metadata: { providers: [[{ 'X-Api-Key': '…' }], { password: '…' }] },
          tenantToken: '…',
          stream,
        },
      },
    ]);
  });

  it.each([
    ['responses', { model: 'gpt-4o', input: 'What is 2 + 3?' }],
    ['messages', { model: 'gpt-4o', max_tokens: 9, messages: simpleRequest.messages }],
    ['completions', { model: 'gpt-4o', prompt: 'What is 2 + 3?' }],
  ])('are not recorded of a call to %s', async (path, request) => {
    await using fixture = await startGateway({ script: () => respondWith('5') });
    const attempt = await fixture.attempt();
    const body = JSON.stringify({ ...request, ...credentials });
    await (await fetch(`${fixture.baseUrl(attempt)}/${path}`, { method: 'POST', body })).text();
    await fixture.gateway.drain();
    const spans = await fixture.spans(attempt);
    expect(spans).toHaveLength(1);
    expect(JSON.stringify(spans)).not.toContain('secretsecret');
  });
});
