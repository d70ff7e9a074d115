import { describe, expect, it } from 'vitest';
import { errorWords } from './error-words.ts';

describe('what an upstream says was wrong', () => {
  it.each([
    ['{"error":{"message":"too long","code":400}}', 'too long'],
    ['{"error":"out of memory"}', 'out of memory'],
    ['{"object":"error","message":"no such model"}', 'no such model'],
    ['{"detail":"Not Found"}', 'Not Found'],
    [
      '{"detail":[{"loc":["body","messages"],"msg":"Field required","type":"missing"},{"loc":["body","n"],"msg":"Too many"}]}',
      'body.messages: Field required; body.n: Too many',
    ],
    ['{"errors":["a","b"]}', '{"errors":["a","b"]}'],
    ['{"error":{"reason":"quota"}}', '{"error":{"reason":"quota"}}'],
    ['  upstream connect error \n', 'upstream connect error'],
    ['<html><h1>Bad gateway</h1>', ''],
    ['', ''],
  ])('in %s is %j', (text, words) => {
    expect(errorWords(text)).toBe(words);
  });

  it('is cut where it is a book', () => {
    expect(errorWords('x'.repeat(5000))).toBe(`${'x'.repeat(1000)}…`);
  });
});
