import { describe, expect, it } from 'vitest';
import { errorMessageOf, httpErrorMessage } from './error-message.ts';

describe('HTTP error message', () => {
  it.each([
    ['{"error":{"message":"too long","code":400}}', 'too long'],
    ['{"error":"out of memory"}', 'out of memory'],
    ['{"object":"error","message":"no such model"}', 'no such model'],
    ['{"message":"no such route"}', 'no such route'],
    ['{"detail":"Not Found"}', 'Not Found'],
    [
      '{"detail":[{"loc":["body","messages"],"msg":"Field required","type":"missing"},{"loc":["body","n"],"msg":"Too many"}]}',
      'body.messages: Field required; body.n: Too many',
    ],
    ['{"errors":["a","b"]}', '{"errors":["a","b"]}'],
    ['{"error":{"reason":"quota"}}', '{"reason":"quota"}'],
    ['  upstream connect error \n', 'upstream connect error'],
    ['<html><h1>Bad gateway</h1>', ''],
    ['', ''],
  ])('in %s is %j', (text, message) => {
    expect(httpErrorMessage(text)).toBe(message);
  });

  it('is truncated when it is long and of unknown form', () => {
    expect(httpErrorMessage('x'.repeat(5000))).toBe(`${'x'.repeat(1000)}…`);
  });
});

describe('stream event error', () => {
  it.each([
    [{ type: 'error', message: 'overloaded' }, 'overloaded'],
    [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'Overloaded'],
    [{ type: 'response.failed', response: { status: 'failed', error: { message: 'no capacity' } } }, 'no capacity'],
    [{ type: 'response.completed', response: { status: 'completed', error: null } }, null],
    [{ type: 'message_start', message: { role: 'assistant' } }, null],
    [{ choices: [{ delta: { content: 'hi' } }], message: 'not an error' }, null],
  ])('in %j is %j', (event, message) => {
    expect(errorMessageOf(event)).toBe(message);
  });
});
