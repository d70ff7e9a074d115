import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeTokens, encodeText } from '../text/tokenizer.ts';
import { specialToken, specialTokenNames } from '../text/vocabulary.ts';
import { StreamedText } from './streamed-text.ts';

/** The text streamed after each token. */
function shownFor(tokens: readonly number[], stops: readonly string[] = []): readonly string[] {
  const text = new StreamedText(stops);
  return tokens.map((token) => text.take(token).content);
}

test('streams plain text immediately, and a character after its last byte', () => {
  expect(shownFor(encodeText('aß€'))).toEqual(['a', '', 'ß', '', '', '€']);
});

test('holds back a potential stop text', () => {
  expect(shownFor(encodeText('one two'), ['ow', 'two'])).toEqual(['', 'o'.concat('n'), 'e', ' ', '', '', '']);
});

test('holds back everything from a special token on', () => {
  expect(shownFor([0x61, specialToken.firstTool, 0x62])).toEqual(['a', '', '']);
});

test('streams the whole text in chunks, without any part of a stop text', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }).map(encodeText),
    fc.constantFrom(...specialTokenNames).map(encodeText),
    fc.array(fc.integer({ min: 0, max: 267 }), { maxLength: 4 }),
  );
  const stop = fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', '<', '|', 'e', 'ß') });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.array(stop, { maxLength: 2 }), (pieces, stops) => {
      const tokens = pieces.flat();
      const text = new StreamedText(stops);
      const whole = decodeTokens(tokens);
      const end = Math.min(whole.length, ...stops.map((each) => whole.indexOf(each)).filter((at) => at >= 0));
      const content = whole.slice(0, end);
      let shown = '';
      for (const [index, token] of tokens.entries()) {
        shown += text.take(token).content;
        // The sampler stops here.
        if (stops.some((each) => decodeTokens(tokens.slice(0, index + 1)).includes(each))) break;
      }
      expect(shown + text.rest({ content }).content).toBe(content);
    }),
  );
});
