import { CapturedAnswer, isJsonObject, type JsonObject, parseJsonObject, StreamedMessage } from '@agentlightning/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type StreamEntry, writeEntry } from '../http/event-stream.ts';
import { ChatStream } from './chat-stream.ts';
import { ChunkForms, KnownForms } from './chunk-forms.ts';
import type { AddedFields } from './prepared-request.ts';
import { isOnlyUsage, visibleAnswer } from './visible-answer.ts';

const everything: AddedFields = { logprobs: true, tokenIds: true, usage: true };

/** What a stream gives, where each chunk is parsed. */
function parsed(chunks: readonly string[], added: AddedFields): object {
  const answer = new CapturedAnswer();
  const message = new StreamedMessage();
  const texts = chunks.map((data): string => {
    const entry = { kind: 'event', event: undefined, data } as const;
    const chunk = parseJsonObject(data);
    if (chunk === null || isJsonObject(chunk.error)) return writeEntry(entry);
    answer.add(chunk);
    const visible = visibleAnswer(chunk, added);
    message.add(visible);
    if (isOnlyUsage(chunk, added)) return '';
    return visible === chunk ? writeEntry(entry) : writeEntry({ ...entry, data: JSON.stringify(visible) });
  });
  return { texts, recorded: JSON.stringify(message.toBody()), ...captured(answer) };
}

/** The same as the gateway does it. */
function streamed(chunks: readonly string[], added: AddedFields, known: KnownForms = new KnownForms()): object {
  const answer = new CapturedAnswer();
  const stream = new ChatStream(answer, added, known);
  const texts = chunks.map((data): string => {
    const taken = stream.take({ kind: 'event', event: undefined, data });
    return typeof taken === 'string' ? taken : taken.text;
  });
  return { texts, recorded: JSON.stringify(stream.recorded()), ...captured(answer) };
}

function captured(answer: CapturedAnswer): object {
  const { choices, responseTokens, responseId, model, promptTokenIds, usage, policyVersion, isFinished } = answer;
  const { hasMixedPolicyVersions } = answer;
  const head = { responseId, model, promptTokenIds, usage, policyVersion, hasMixedPolicyVersions };
  return { ...head, choices, responseTokens, isFinished };
}

const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom(
    '"},"logprobs":{"content":[',
    '"content":"',
    '","token_ids":[1,2]',
    '\\"token_ids":[7],"x":"',
    'cut out of a chunk: text',
    '"cut out of a chunk: token ids"',
    '\\',
    '\\u0041\n',
    '\u0085\u2028\u007f',
    '\ud83d\ude00\ud83d',
    'e\u0301',
  ),
);
const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer());
const entry = fc.record(
  {
    token: text,
    logprob: fc.oneof({ weight: 9, arbitrary: number }, fc.constant(null)),
    bytes: fc.oneof(fc.constant(null), fc.array(fc.nat(255), { maxLength: 4 })),
    top_logprobs: fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, fc.constant([{ token: 'a', logprob: -1 }])),
  },
  { requiredKeys: ['token', 'logprob', 'bytes', 'top_logprobs'] },
);
const entries = fc.array(entry, { maxLength: 3 });
const usualEntries = fc.array(
  fc.record({ token: text, logprob: number, bytes: fc.constantFrom(null, [1, 20]), top_logprobs: fc.constant([]) }),
  { minLength: 1, maxLength: 3 },
);
const logprobs = fc.oneof(
  { weight: 6, arbitrary: fc.record({ content: entries }) },
  fc.record({ content: entries, refusal: fc.constantFrom(null, []) }),
  fc.record({ content: entries, tokens: fc.constant(['a']), token_logprobs: fc.constant([-1]) }),
  fc.constantFrom(null, 'cut out of a chunk: logprobs', { content: null }, { content: 'x' }),
);
const tokenIds = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.nat(200_000), { maxLength: 3 }) },
  fc.constantFrom(null, [1.5, -1], 'cut out of a chunk: token ids', ['1']),
);
const calls = fc.constantFrom(
  null,
  [],
  [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"content":"' } }],
  [{ index: 0, function: { arguments: '"}' } }],
);
const delta = fc.oneof(
  { weight: 6, arbitrary: fc.record({ content: text }) },
  fc.record({ content: text, role: fc.constantFrom('assistant', null, ''), tool_calls: fc.constant(null) }),
  fc.record({ reasoning_content: text }),
  fc.record({ content: fc.constant(null), reasoning: text, refusal: fc.constantFrom(null, 'no') }),
  fc.record({ content: fc.option(text), reasoning_content: fc.option(text), tool_calls: calls }),
  fc.constantFrom({}, null, { content: [{ type: 'text', text: 'a' }] }, { content: 3 }),
);
const choice = fc
  .record(
    {
      index: fc.constantFrom(0, 0, 0, 1),
      delta,
      logprobs,
      finish_reason: fc.constantFrom(null, null, null, 'stop'),
      token_ids: tokenIds,
      stop_reason: fc.constantFrom(null, 1.5),
      prompt_token_ids: fc.constant([1]),
    },
    { requiredKeys: ['index', 'delta', 'logprobs', 'finish_reason', 'token_ids'] },
  )
  .map((fields): JsonObject => fields as unknown as JsonObject);
const choices = fc.oneof(
  { weight: 6, arbitrary: choice.map((only) => [only]) },
  fc.array(choice, { maxLength: 2 }),
  fc.constant(null),
);
const head = fc.record(
  {
    id: fc.constantFrom('chatcmpl-1', 'chatcmpl-1', '"content":"', 'a\\b'),
    created: fc.constantFrom(1, 1, 1e21),
    model: fc.constant('tiny'),
    policy_version: fc.constantFrom(1, 1, 2),
    prompt_token_ids: fc.array(fc.nat(9), { maxLength: 3 }),
    usage: fc.constantFrom(null, null, { prompt_tokens: 1, completion_tokens: 2 }),
    error: fc.constantFrom(null, { message: 'no' }),
  },
  { requiredKeys: ['id'] },
);

/** Chunks as an engine writes them; each goes on like the one before, or in another form. */
const chunks = fc
  .array(fc.record({ head: fc.option(head), choices, place: fc.constantFrom(0, 0, 0, 2) }), { maxLength: 8 })
  .map((given) => {
    let last: object = { id: 'chatcmpl-1', created: 1, model: 'tiny' };
    return given.map(({ head: own, choices: said, place }) => {
      last = own === null ? last : own;
      return JSON.stringify({ ...last, choices: said }, null, place);
    });
  });

const sure = { token: 'a', logprob: 0, bytes: null, top_logprobs: [] };

/** One form from beginning to end, whatever it has beside. */
const alike = fc
  .record({
    head,
    content: fc.array(
      fc.record({
        text,
        entries: fc.oneof(usualEntries, fc.constant([sure])),
        tokenIds: fc.oneof(fc.array(fc.nat(99)), fc.constant([5])),
      }),
    ),
    isLate: fc.boolean(),
    around: fc.constantFrom({}, { logprobs: { content: [sure] } }, { token_ids: [1] }, { content: 'a' }),
    beside: fc.constantFrom(
      {},
      { role: 'assistant' },
      { refusal: 'no' },
      { reasoning: 'so' },
      { tool_calls: [{ id: 'c' }] },
    ),
    instead: fc.constantFrom({}, { logprobs: { content: 'x' } }, { token_ids: 'x' }, { logprobs: null }),
    spaced: fc.constantFrom('', '"token_ids":', '"logprobs":', '"index":'),
    odd: fc.option(
      fc.constantFrom('{"created":5,"choices":[]}', '{"choices":[{"delta":{"tool_calls":[{"id":"c"}]}}]}'),
    ),
  })
  .map(({ head: own, content, isLate, around, beside, instead, spaced, odd }) =>
    content.flatMap((said, place) => {
      const part = { delta: { ...beside, content: said.text }, logprobs: { content: said.entries } };
      const ids = { finish_reason: null, token_ids: said.tokenIds };
      const only = { ...(isLate ? { ...ids, ...part } : { ...part, ...ids }), ...instead };
      const written = JSON.stringify({ ...own, ...around, choices: [only] }).replace(spaced, `${spaced} `);
      return odd === null || place !== 1 ? [written] : [odd, written];
    }),
  );

const added = fc.oneof(
  fc.constant(everything),
  fc.record({ logprobs: fc.boolean(), tokenIds: fc.boolean(), usage: fc.boolean() }),
);

describe('a chunk of a form that one before it had', () => {
  it('says the same, and is seen and recorded the same, as when it is parsed', () => {
    fc.assert(
      fc.property(fc.oneof(chunks, alike), added, (given, fields) => {
        const known = new KnownForms();
        expect(streamed(given, fields, known)).toEqual(parsed(given, fields));
        const others = given.map((chunk) =>
          chunk.replace('chatcmpl-1', 'chatcmpl-23').replace('"created":1', '"created":20'),
        );
        expect(streamed(others, fields, known)).toEqual(parsed(others, fields));
      }),
      { numRuns: 3000 },
    );
  });

  it('is parsed where it is damaged', () => {
    const damage = fc.record({
      chunk: fc.nat(),
      at: fc.nat(),
      removed: fc.nat(3),
      put: fc.constantFrom('', 'NaN', '1e400', '-0.0', '\\u00', '\\u0041', '\\/', '\ud83d', ...'"\\],:{0.- \n\u0000'),
    });
    fc.assert(
      fc.property(fc.oneof(chunks, alike), fc.array(damage, { maxLength: 3 }), added, (given, damages, fields) => {
        const damaged = [...given];
        for (const { chunk, at, removed, put } of given.length === 0 ? [] : damages) {
          const place = chunk % given.length;
          const whole = damaged[place] ?? '';
          const cut = at % (whole.length + 1);
          damaged[place] = whole.slice(0, cut) + put + whole.slice(cut + removed);
        }
        expect(streamed(damaged, fields)).toEqual(parsed(damaged, fields));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['as it is', 'cut out of a chunk: text'],
    ['by escapes', '\\u0063ut out of a chunk: text'],
  ])('is parsed where it says %s what stands for texts that are cut out', (_name, said) => {
    const of = (place: string): string =>
      `{"content":"${place}","choices":[{"index":0,"delta":{"content":"${said}"},"token_ids":[1]}]}`;
    const given = [of('a'), of('b')];
    expect(streamed(given, everything)).toEqual(parsed(given, everything));
  });

  it('has escapes written as they would be', () => {
    const given = ['a', '\\u0041\\/\\u00e9', '\\ud83d'].map((said) =>
      chunkOf('a', 1).replace('"content":"a"', `"content":"${said}"`),
    );
    expect(streamed(given, everything)).toEqual(parsed(given, everything));
  });

  it.each([
    ['"logprob":-0.25', '"logprob":-00.25'],
    ['"logprob":-0.25', '"logprob":-0.'],
    ['"logprob":-0.25', '"logprob":NaN'],
    ['"bytes":[97]', '"bytes":[097]'],
    ['"bytes":[97]', '"bytes":[97,]'],
    ['"token_ids":[1]', '"token_ids":[01]'],
    ['"token_ids":[1]', '"token_ids":[,1]'],
    ['"content":"a"', '"content":"\\x"'],
    ['"token":"a"', '"token":"\\x"'],
  ])('is no JSON where it says %s as %s', (usual, other) => {
    const given = [chunkOf('a', 1), chunkOf('a', 1).replace(usual, other)];
    expect(given[0]).not.toBe(given[1]);
    expect(streamed(given, everything)).toEqual(parsed(given, everything));
    expect(streamed(given, everything)).toMatchObject({ texts: [expect.anything(), `data: ${given[1]}\n\n`] });
  });

  const chunkOf = (content: string, id: number, rest: object = {}): string =>
    JSON.stringify({
      id: 'chatcmpl-1',
      created: 1,
      choices: [
        {
          index: 0,
          delta: { content },
          logprobs: { content: [{ token: content, logprob: -0.25, bytes: [97], top_logprobs: [] }] },
          finish_reason: null,
          token_ids: [id],
        },
      ],
      ...rest,
    });

  it('is not parsed', () => {
    const forms = new ChunkForms(everything, new KnownForms());
    const first = forms.read(chunkOf('a', 1));
    const second = forms.read(chunkOf('say "b"\n', 2));
    expect(first?.form).toBeDefined();
    expect(second?.form).toBe(first?.form);
    expect(second?.parts).toMatchObject({ text: 'say "b"\n', tokens: ['say "b"\n'], logprobs: [-0.25], tokenIds: [2] });
  });

  it.each([
    ['an id with escapes', chunkOf('b', 2, { id: 'chatcmpl\n' })],
    ['a broken time', chunkOf('b', 2, { created: 1.5 })],
    ['the finish reason', chunkOf('b', 2).replace('"finish_reason":null', '"finish_reason":"stop"')],
    ['the usage', chunkOf('b', 2, { usage: { prompt_tokens: 1 } })],
    ['spaces between', chunkOf('b', 2).replaceAll(',', ', ')],
  ])('has not that form when it has %s', (_name, other) => {
    const forms = new ChunkForms(everything, new KnownForms());
    const first = forms.read(chunkOf('a', 1));
    expect(forms.read(other)?.form).not.toBe(first?.form);
  });

  it('is known again in another answer', () => {
    const known = new KnownForms();
    const first = new ChunkForms(everything, known).read(chunkOf('a', 1, { prompt_token_ids: [1, 2] }));
    const second = new ChunkForms(everything, known).read(
      chunkOf('b', 2, { id: 'chatcmpl-234', created: 56, prompt_token_ids: [3] }),
    );
    expect(second?.form).toBe(first?.form);
    expect(second?.parts).toMatchObject({ writtenId: '"chatcmpl-234"', writtenCreated: '56', promptTokenIds: [3] });
  });

  it('has not that form for those who asked for something else', () => {
    const known = new KnownForms();
    const first = new ChunkForms(everything, known).read(chunkOf('a', 1));
    const other = new ChunkForms({ ...everything, usage: false }, known).read(chunkOf('a', 1));
    expect(other?.form).not.toBe(first?.form);
  });

  it('is known again after others, so choices may come in turn', () => {
    const forms = new ChunkForms(everything, new KnownForms());
    const of = (index: number, content: string): string => chunkOf(content, 1).replace('"index":0', `"index":${index}`);
    const [first, second, third, fourth] = [of(0, 'a'), of(1, 'b'), of(0, 'c'), of(1, 'd')].map((chunk) =>
      forms.read(chunk),
    );
    expect(third?.form).toBe(first?.form);
    expect(fourth?.form).toBe(second?.form);
    expect([first?.form.index, second?.form.index]).toEqual([0, 1]);
  });

  it('is parsed when every chunk has a form of its own', () => {
    const forms = new ChunkForms(everything, new KnownForms());
    const read = Array.from({ length: 20 }, (_, index) => forms.read(chunkOf('a', 1, { version: index })));
    expect(read.filter((chunk) => chunk !== null)).toHaveLength(16);
  });
});

it('an event with a name keeps it, and so does a comment its text', () => {
  const stream = new ChatStream(new CapturedAnswer(), everything, new KnownForms());
  const data = JSON.stringify({ choices: [{ delta: { content: 'a' }, token_ids: [1] }] });
  const entries: readonly StreamEntry[] = [
    { kind: 'event', event: 'part', data },
    { kind: 'comment', text: 'still here' },
  ];
  expect(entries.map((given) => stream.take(given))).toEqual([
    'event: part\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n',
    ': still here\n\n',
  ]);
});
