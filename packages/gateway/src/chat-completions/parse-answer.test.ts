import { CapturedAnswer, type JsonObject, parseJsonObject } from '@agentlightning/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAnswer } from './parse-answer.ts';
import { visibleAnswer } from './visible-answer.ts';

const opening = '"logprobs":{"content":[';
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(opening, `x${opening}{"token":"`, '\\', '\\"', '"', ',"bytes":[],"top_logprobs":[]}', '\u0085\u2028'),
);
const entry = fc.record(
  {
    token: text,
    logprob: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer()),
    bytes: fc.oneof(fc.constant(null), fc.array(fc.nat(255))),
    top_logprobs: fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, fc.constant([{ token: 'a', logprob: -1 }])),
  },
  { requiredKeys: ['token', 'logprob', 'bytes', 'top_logprobs'] },
);
const choice = fc.record({
  index: fc.nat(3),
  message: fc.record({ content: text, logprobs: fc.constantFrom(null, { content: 0 }, { content: [] }) }),
  token_ids: fc.array(fc.nat()),
  finish_reason: fc.constantFrom('stop', null),
  logprobs: fc.oneof(fc.record({ content: fc.array(entry), refusal: fc.constant(null) }), fc.constant({ content: 0 })),
});
const body = fc.record({ id: text, choices: fc.array(choice, { maxLength: 3 }), logprobs: fc.constantFrom(null, 1) });

function captured(answer: JsonObject | null): object {
  const all = new CapturedAnswer();
  if (answer !== null) all.add(answer);
  return { choices: all.choices, tokens: all.responseTokens, id: all.responseId };
}

const added = { logprobs: true, tokenIds: true, usage: false };
const seen = (answer: JsonObject | null): JsonObject | null => (answer === null ? null : visibleAnswer(answer, added));

describe('an answer whose log-probabilities only its record has', () => {
  it('says the same of its tokens, and of all else, as when it is read in the usual way', () => {
    fc.assert(
      fc.property(body, fc.constantFrom(0, 1), (answer, indent) => {
        const written = JSON.stringify(answer, null, indent);
        const usual = parseJsonObject(written);
        const read = parseAnswer(written);
        expect(captured(read)).toEqual(captured(usual));
        expect(seen(read)).toEqual(seen(usual));
      }),
      { numRuns: 1000 },
    );
  });

  it('is none where the usual way finds none', () => {
    fc.assert(
      fc.property(body, fc.nat(), fc.constantFrom('', '"', ']', '0', '\n'), (answer, place, damage) => {
        const written = JSON.stringify(answer);
        const at = place % written.length;
        const damaged = written.slice(0, at) + damage + written.slice(at + 1);
        expect(captured(parseAnswer(damaged))).toEqual(captured(parseJsonObject(damaged)));
      }),
      { numRuns: 1000 },
    );
  });

  it('takes three objects for each token no more', () => {
    const logprobs = { content: [{ token: 'a"b', logprob: -0.25, bytes: [97, 34, 98], top_logprobs: [] }] };
    const read = parseAnswer(JSON.stringify({ choices: [{ index: 0, logprobs }] }));
    expect(read).toEqual({ choices: [{ index: 0, logprobs: { tokens: ['a"b'], token_logprobs: [-0.25] } }] });
  });
});
