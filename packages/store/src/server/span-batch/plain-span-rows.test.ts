import { spanInputFromWire, spanToWire, wireSpanBatchSchema } from '@agentlightning/core/protocol';
import { aSpan } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SpanRow, spanRow } from '../../span-row.ts';
import { plainSpanRows } from './plain-span-rows.ts';

const fields = {
  rollout_id: '"ro-1"',
  attempt_id: '"at-1"',
  sequence_id: '7',
  trace_id: '"0af7"',
  span_id: '"b7ad"',
  parent_id: '"00f0"',
  name: '"chat größer 字"',
  status: '{"status_code":"OK","description":null}',
  attributes: '{"model":"small","tokens":[1,2],"temperature":0.7}',
  events: '[]',
  links: '[]',
  start_time: '1760000000.125',
  end_time: 'null',
  context: 'null',
  parent: 'null',
  resource: '{"attributes":{"service.name":"agent"},"schema_url":""}',
};

/** JSON text that some field takes as it is, some takes in another form, and some not at all; and what is no JSON. */
const values = [
  ...['null', '0', '7', '-0', '007', '1e3', '1760000000', '1760000000123456789', '1e999', '0.5', '0.50', '.5', '-1.25'],
  ...['true', 'True', '""', '"x"', '"a\\"b"', '"a\\/b"', '"\\u0041"', '"\\n"', '"\n"', '"\\ud800"', '"größer"', '[]'],
  ...['{}', '{ }', '[1]', '[1,]', '{"a":1}', '{"a":1,"a":2}', '{"b":1,"7":2}', '{"a":null}', '{"a":[[]]}', '{"a":[]}'],
  ...['{"a":[1,"x",true,-0.25]}', '{"a":"1,\\"a\\":2"}', '{"":1}', '{"a":0.1,"__proto__":1}', '{"a":1e3}', '{"a":-0}'],
  ...['{"a":0.0000001}', '{"a":0.30000000000000004}', '{"a":12345678901234567890}', '{"a":12345.678901}', '{"a":1.0}'],
  ...['{"status_code":"ERROR","description":"no\\twell"}', '{"status_code":"BAD","description":null}'],
  ...['{"status_code":"OK"}', '{"attributes":{"a":1,"a":1},"schema_url":"s"}', '{"attributes":{},"schema_url":"\\\\"}'],
  ...['{"trace_id":"0af7","span_id":"b7ad","is_remote":false,"trace_state":{}}'],
  ...['{"trace_id":"0af7","span_id":"00f0","is_remote":false,"trace_state":{}}'],
  ...['{"trace_id":"0af7","span_id":"","is_remote":false,"trace_state":{}}', '{"trace_id":"0af7","span_id":"b7ad"}'],
  ...['[{"name":"event","attributes":null,"timestamp":null}]'],
];

const spanText = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...Object.keys(fields), 'more'), fc.constantFrom(...values), { maxKeys: 1 }),
    fc.oneof(
      { weight: 20, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom(...Object.keys(fields)) },
    ),
  )
  .map(([changed, absent]) => {
    const entries = Object.entries({ ...fields, ...changed }).filter(([field]) => field !== absent);
    return `{${entries.map(([field, value]) => `"${field}":${value}`).join(',')}}`;
  });
const mostly = (usual: string, ...others: string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 10, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const batchText = fc
  .tuple(fc.array(spanText, { maxLength: 3 }), mostly(',', ', '), mostly(']}', '],"more":1}', ']'))
  .map(([spans, separator, end]) => `{"spans":[${spans.join(separator)}${end}`);

function batchOf(...spans: readonly Partial<typeof fields>[]): string {
  const texts = spans.map((changed) =>
    Object.entries({ ...fields, ...changed }).map(([field, value]) => `"${field}":${value}`),
  );
  return `{"spans":[${texts.map((text) => `{${text.join(',')}}`).join(',')}]}`;
}

function parsedRows(text: string): readonly SpanRow[] {
  return wireSpanBatchSchema.parse(JSON.parse(text)).spans.map((wire) => spanRow(spanInputFromWire(wire)));
}

test('what it reads from the text is what there is when the text is parsed; it reads nothing else', () => {
  let read = 0;
  fc.assert(
    fc.property(batchText, (text) => {
      const rows = plainSpanRows(text);
      if (rows === null) return;
      read += 1;
      expect(rows).toEqual(parsedRows(text));
    }),
    { numRuns: 10_000 },
  );
  expect(read).toBeGreaterThan(500);
});

test('any names and texts of attributes come out as they are when the text is parsed', () => {
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
  );
  const attributes = fc.dictionary(
    fc.string({ unit: 'binary' }),
    fc.oneof(value, fc.array(fc.integer()), fc.array(fc.string()), fc.boolean()),
  );
  fc.assert(
    fc.property(fc.array(attributes, { minLength: 1, maxLength: 3 }), (list) => {
      const text = JSON.stringify({ spans: list.map((each) => spanToWire(aSpan({ attributes: each }))) });
      const rows = plainSpanRows(text);
      if (rows !== null) expect(rows).toEqual(parsedRows(text));
    }),
    { numRuns: 2000 },
  );
});

test('looks for two attributes of one name behind any texts and lists', () => {
  const value = fc.oneof(fc.string({ unit: fc.constantFrom('"', '\\', ',', ']', '[', ':', 'a') }), fc.integer());
  const entries = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.oneof(value, fc.array(value))));
  const textOf = ([name, of]: readonly [string, unknown]): string => `"${name}":${JSON.stringify(of)}`;
  fc.assert(
    fc.property(fc.array(entries, { minLength: 1, maxLength: 3 }), (spans) => {
      const rows = plainSpanRows(batchOf(...spans.map((of) => ({ attributes: `{${of.map(textOf).join(',')}}` }))));
      const areUnique = spans.every((of) => new Set(of.map(([name]) => name)).size === of.length);
      expect(rows !== null).toBe(areUnique);
    }),
    { numRuns: 3000 },
  );
});

test('reads spans as our own clients write them, numbered and not, with a parent and without', () => {
  const spans = [
    aSpan({ attributes: { 'gen_ai.request.model': 'small', text: 'say "no"\n', tokens: [1, 2, 3], rate: 0.125 } }),
    aSpan({ parentId: 'b7ad6b7169203331', status: { code: 'ERROR', message: 'größer \\ 字' } }),
  ].map(spanToWire);
  const text = JSON.stringify({ spans: [...spans, { ...spans[0], sequence_id: undefined }] });
  expect(plainSpanRows(text)).toEqual(parsedRows(text));
});

test.each([
  ['an escape that JSON.stringify does not write', { name: '"a\\/b"' }],
  ['an escape in what is compared', { span_id: '"a\\"b"' }],
  ['two attributes of one name', { attributes: '{"a":1,"b":2,"a":3}' }],
  ['two attributes of one name in a resource', { resource: '{"attributes":{"a":1,"a":3},"schema_url":""}' }],
  ['a name that is a number', { attributes: '{"b":1,"7":2}' }],
  ['a number that is written otherwise', { attributes: '{"a":1.50}' }],
  ['a number with an exponent', { attributes: '{"a":1e3}' }],
  ['an event', { events: '[{"name":"event","attributes":null,"timestamp":null}]' }],
  [
    'a parent without its id',
    { parent_id: 'null', parent: '{"trace_id":"0af7","span_id":"","is_remote":false,"trace_state":{}}' },
  ],
])('leaves %s to be parsed', (_, changed) => {
  expect(plainSpanRows(batchOf({}, {}))).toHaveLength(2);
  expect(plainSpanRows(batchOf({}, changed))).toBeNull();
});

test('a list as long as text may be that it reads, and text that is longer, which it leaves', () => {
  const tokens = (count: number): string => batchOf({ attributes: `{"tokens":[${'7,'.repeat(count)}7]}` });
  const long = tokens(520_000);
  expect(plainSpanRows(long)).toEqual(parsedRows(long));
  expect(plainSpanRows(tokens(600_000))).toBeNull();
  const quotes = batchOf({ name: '"x"', attributes: `{"text":"${'\\"'.repeat(520_000)}"}` });
  expect(plainSpanRows(quotes)).toEqual(parsedRows(quotes));
});
