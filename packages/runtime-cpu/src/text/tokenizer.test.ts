import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTokens, encodeGenerated, encodeText } from './tokenizer.ts';
import { outputSize, specialToken } from './vocabulary.ts';

test('any text comes back from its tokens', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(decodeTokens(encodeText(text)).replaceAll('\udc3c|', '<|')).toBe(text);
    }),
  );
});

test('any token sequence the model can write comes back from its text', () => {
  const token = fc.oneof(fc.nat(outputSize - 1), fc.constantFrom(...encodeText('<|end|>é€😀')));
  fc.assert(
    fc.property(fc.array(token), (tokens) => {
      expect(encodeGenerated(decodeTokens(tokens))).toEqual(tokens);
    }),
  );
});

test('the text of any token sequence survives JSON', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(255)), (tokens) => {
      const text: unknown = JSON.parse(JSON.stringify(decodeTokens(tokens)));
      expect(encodeGenerated(String(text))).toEqual(tokens);
    }),
  );
});

test('valid UTF-8 is read as what it says', () => {
  expect(decodeTokens([...new TextEncoder().encode('naïve €5 😀')])).toBe('naïve €5 😀');
});

test('a special token spelled out in bytes stays bytes', () => {
  const spelled = encodeText('<|end|>');
  expect(spelled).toHaveLength(7);
  expect(encodeGenerated(decodeTokens(spelled))).toEqual(spelled);
  expect(encodeGenerated('<|end|>')).toEqual([specialToken.end]);
});
