import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { modelCallFromSpan } from '../spans/model-call-from-span.ts';
import { modelCallToSpan } from '../spans/model-call-span.ts';
import { aModelCall } from '../testing/a-trajectory.ts';
import { SecretFields } from './secret-fields.ts';

const secret = `sk-${'ΞΛΔ'.repeat(10_000)}`;

describe('credential fields', () => {
  test.each([
    'api_key',
    'apiKey',
    'API-KEY',
    'X-Api-Key',
    'Authorization',
    'extra_headers',
    'extraHeaders',
    'password',
  ])('%s is redacted at any depth, for any value', (name) => {
    const body = {
      model: 'tiny',
      [name]: secret,
      tools: [{ type: 'mcp', [name]: { 'x-token': secret } }, [[{ [name]: [secret] }]]],
    };
    expect(new SecretFields().redact(body)).toEqual({
      model: 'tiny',
      [name]: '…',
      tools: [{ type: 'mcp', [name]: '…' }, [[{ [name]: '…' }]]],
    });
  });

  test('custom names extend the defaults', () => {
    const body = { 'tenant.token': secret, tenantxtoken: 'a', api_key: secret };
    const redacted = { 'tenant.token': '…', tenantxtoken: 'a', api_key: '…' };
    expect(new SecretFields(['tenant.token', '']).redact(body)).toEqual(redacted);
    expect(new SecretFields().redact(body)).toEqual({ ...body, api_key: '…' });
  });

  test('a property definition in a JSON schema is not redacted', () => {
    const schema = { type: 'object', properties: { api_key: { type: 'string', description: 'The key' } } };
    const body = { tools: [{ function: { parameters: schema } }], api_key: null };
    expect(new SecretFields().redact(body)).toBe(body);
    expect(new SecretFields().redact({ properties: { api_key: secret } })).toEqual({ properties: { api_key: '…' } });
  });

  test('other fields are unchanged, and the body is not mutated', () => {
    const key = fc.constantFrom('role', 'content', 'api_key', '__proto__', 'max_tokens', 'key', 'token');
    const { body } = fc.letrec((tie) => ({
      body: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.array(tie('value')),
        tie('body'),
      ),
    }));
    fc.assert(
      fc.property(body, (given) => {
        const text = JSON.stringify(given);
        const redacted = new SecretFields().redact(JSON.parse(text));
        const expected = JSON.stringify(given, (name, value) => (name === 'api_key' && value !== null ? '…' : value));
        expect(JSON.stringify(redacted)).toBe(expected);
        expect(JSON.stringify(given)).toBe(text);
      }),
    );
  });

  test('deeply nested bodies are supported', () => {
    const deep = JSON.parse(`${'{"a":['.repeat(100_000)}{"api_key":"sk"}${']}'.repeat(100_000)}`);
    let inner = new SecretFields().redact(deep);
    while ('a' in inner) inner = (inner as { a: (typeof inner)[] }).a[0] ?? {};
    expect(inner).toEqual({ api_key: '…' });
  });
});

test('a recorded model call has no credentials, even with given body texts', () => {
  const request = { model: 'tiny', messages: [], tools: [{ type: 'mcp', headers: { a: secret } }], mine: secret };
  const response = { output: [], tools: request.tools };
  const span = modelCallToSpan(
    { ...aModelCall(), request, response },
    {
      requestText: JSON.stringify(request),
      responseText: JSON.stringify(response),
      secretFields: new SecretFields(['mine']),
    },
  );
  expect(JSON.stringify(span)).not.toContain('ΞΛΔ');
  expect(modelCallFromSpan({ ...span, sequenceId: 1 })).toMatchObject({
    request: { model: 'tiny', tools: [{ type: 'mcp', headers: '…' }], mine: '…' },
    response: { tools: [{ type: 'mcp', headers: '…' }] },
  });
});
