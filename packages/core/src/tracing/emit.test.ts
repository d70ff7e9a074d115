import { expect, test } from 'vitest';
import { findFinalReward, findRewards, rewardFromSpan } from '../spans/reward-spans.ts';
import { findLinkedSpans, linksFromSpan, tagsFromSpan } from '../spans/span-links.ts';
import { aRolloutContext } from '../testing/a-rollout.ts';
import { aRewardSpan, aSpan } from '../testing/a-span.ts';
import { MemorySpanSink } from '../testing/memory-span-sink.ts';
import { emitAnnotation, emitException, emitMessage, emitObject } from './emit.ts';
import { emitReward } from './emit-reward.ts';
import { asOperation } from './operation.ts';
import { withRollout } from './rollout-context.ts';
import { withAgent } from './with-agent.ts';

function recorded(run: () => void): MemorySpanSink {
  const sink = new MemorySpanSink();
  withRollout(aRolloutContext({ sink, parentSpanId: 'feedfeedfeedfeed' }), run);
  return sink;
}

test('a number becomes a reward span with one dimension, named primary', () => {
  const [span] = recorded(() => emitReward(0.5)).spans;
  expect(span).toMatchObject({
    name: 'agentlightning.annotation',
    parentId: 'feedfeedfeedfeed',
    status: { code: 'OK' },
    attributes: { 'agentlightning.reward.0.name': 'primary', 'agentlightning.reward.0.value': 0.5 },
  });
});

test('the primary dimension comes first and the others keep their order', () => {
  const [span] = recorded(() => emitReward({ a: 1, b: 2, c: 3 }, { primaryKey: 'b' })).spans;
  expect(span && rewardFromSpan(span)?.rewards).toEqual([
    { name: 'b', value: 2 },
    { name: 'a', value: 1 },
    { name: 'c', value: 3 },
  ]);
});

test('without a primary key, the dimension named primary counts, or the only one', () => {
  const { spans } = recorded(() => {
    emitReward({ other: 1, primary: 2 });
    emitReward({ only: 3 });
  });
  expect(spans.map((span) => rewardFromSpan(span)?.rewards[0])).toEqual([
    { name: 'primary', value: 2 },
    { name: 'only', value: 3 },
  ]);
});

test('true counts as 1 and false as 0', () => {
  const { spans } = recorded(() => {
    emitReward(true);
    emitReward({ a: false });
  });
  expect(spans.map((span) => rewardFromSpan(span)?.rewards[0]?.value)).toEqual([1, 0]);
});

test.each([
  ['NaN', Number.NaN, 'Reward "primary" is out of range: NaN is not a finite number'],
  ['Infinity', { a: Number.POSITIVE_INFINITY }, 'Reward "a" is out of range: Infinity is not a finite number'],
  [
    'a number whose sums overflow',
    1e300,
    'Reward "primary" is out of range: 1e+300 is above the limit of ±1000000000000000',
  ],
  ['a negative number whose sums overflow', { a: -1e16 }, '-10000000000000000 is above the limit'],
  ['a text', '1', 'The reward "primary" is "1" (string)'],
  ['null', null, 'The reward "primary" is null'],
  ['undefined', undefined, 'The reward "primary" is undefined'],
  ['no dimension', {}, 'The reward has no dimension'],
  ['several dimensions', { a: 1, b: 2 }, 'several dimensions (a, b) and none is named as the primary one'],
])('%s is not a reward', (_name, reward, message) => {
  const sink = recorded(() => {
    expect(() => emitReward(reward as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_REWARD', message: expect.stringContaining(message) }),
    );
  });
  expect(sink.spans).toEqual([]);
});

test('an unknown primary key is rejected with the known dimensions', () => {
  expect(() => emitReward({ a: 1, b: 2 }, { primaryKey: 'c' })).toThrow(
    'The primary reward "c" is not among the dimensions (a, b)',
  );
});

test('outside of a rollout emitters record nothing, and still reject invalid rewards', () => {
  expect(emitReward(1)).toBeNull();
  expect(emitMessage('hello')).toBeNull();
  expect(emitAnnotation({ a: 1 })).toBeNull();
  expect(() => emitReward(Number.NaN)).toThrow('INVALID_REWARD');
});

test('an annotation is flattened, and options become tags, links and attributes', () => {
  const [span] = recorded(() =>
    emitAnnotation(
      { retrieval: { hits: 3 } },
      { tags: ['fast', 'good'], links: { span_id: 'abc' }, attributes: { more: { x: 1 } } },
    ),
  ).spans;
  expect(span?.attributes).toEqual({
    'retrieval.hits': 3,
    'more.x': 1,
    'agentlightning.tag.0': 'fast',
    'agentlightning.tag.1': 'good',
    'agentlightning.link.0.key_match': 'span_id',
    'agentlightning.link.0.value_match': 'abc',
  });
  expect(span && tagsFromSpan(span)).toEqual(['fast', 'good']);
  expect(span && linksFromSpan(span)).toEqual({ span_id: 'abc' });
});

test('an annotation with an invalid attribute is rejected', () => {
  expect(() => emitAnnotation({ a: { when: new Date() } } as never)).toThrow('a.when: must be a string');
});

test.each(['prompt_token_ids', 'agentlightning.trainable', 'agentlightning.event.type'])(
  'the attribute %s, which makes a span a model call of the gateway, is rejected',
  (name) => {
    const sink = recorded(() => {
      expect(() => emitAnnotation({ [name]: 1 })).toThrow(name);
      expect(() => emitMessage('text', { attributes: { [name]: 1 } })).toThrow(name);
    });
    expect(sink.spans).toEqual([]);
  },
);

test('a message is a span with its text', () => {
  const [span] = recorded(() => emitMessage('hello')).spans;
  expect(span).toMatchObject({
    name: 'agentlightning.message',
    attributes: { 'agentlightning.message.body': 'hello' },
  });
  expect(() => emitMessage(5 as never)).toThrow('must be a string, but is a number');
});

test.each([
  { type: 'str', value: 'text', literal: 'text' },
  { type: 'int', value: 7, literal: '7' },
  { type: 'float', value: 0.5, literal: '0.5' },
  { type: 'bool', value: true, literal: 'true' },
  { type: 'bytes', value: Uint8Array.from([255, 0, 128]), literal: '/wCA' },
  { type: 'list', value: [1, { a: 2 }], json: '[1,{"a":2}]' },
  { type: 'dict', value: { a: null }, json: '{"a":null}' },
  { type: 'Date', value: new Date(0), json: '"1970-01-01T00:00:00.000Z"' },
])('an object of type $type is recorded', ({ type, value, literal, json }) => {
  const [span] = recorded(() => emitObject(value)).spans;
  expect(span?.name).toBe('agentlightning.object');
  expect(span?.attributes).toEqual({
    'agentlightning.object.type': type,
    ...(literal === undefined ? {} : { 'agentlightning.object.literal': literal }),
    ...(json === undefined ? {} : { 'agentlightning.object.json': json }),
  });
});

test('an object without a JSON form is rejected', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  expect(() => emitObject(cycle)).toThrow('has no JSON form');
  expect(() => emitObject(undefined)).toThrow('has no JSON form: it is undefined');
});

test('an exception is a span with the status ERROR and exception.escaped false', () => {
  const [span] = recorded(() => emitException(new TypeError('bad input'))).spans;
  expect(span).toMatchObject({
    name: 'agentlightning.exception',
    status: { code: 'ERROR', message: 'bad input' },
    attributes: { 'exception.type': 'TypeError', 'exception.message': 'bad input', 'exception.escaped': false },
  });
});

test('the final reward is the last by sequence id, independent of list order', () => {
  const spans = [aRewardSpan(3, { sequenceId: 9 }), aRewardSpan(1, { sequenceId: 2 }), aSpan({ sequenceId: 12 })];
  expect(findRewards(spans).map((reward) => reward.sequenceId)).toEqual([2, 9]);
  expect(findFinalReward(spans)?.rewards).toEqual([{ name: 'primary', value: 3 }]);
  expect(findFinalReward([aSpan()])).toBeNull();
});

test('reward attributes on a span of another name are not a reward', () => {
  const reward = aRewardSpan(1);
  expect(rewardFromSpan({ ...reward, name: 'step' })).toBeNull();
  expect(
    rewardFromSpan({
      ...reward,
      name: 'agentlightning.operation',
      attributes: { ...reward.attributes, 'agentlightning.operation.name': 'agentlightning.reward' },
    })?.rewards[0]?.value,
  ).toBe(1);
});

test('a reward span with a non-numeric dimension is not a reward', () => {
  const { attributes } = aRewardSpan(1);
  const broken = { ...attributes, 'agentlightning.reward.0.value': 'NaN' };
  expect(rewardFromSpan(aRewardSpan(1, { attributes: broken }))).toBeNull();
});

test.each(['agentops.task.output', 'agentops.entity.output'])('the legacy form in %s is read', (name) => {
  const legacy = (value: unknown): number | undefined =>
    rewardFromSpan(aSpan({ attributes: { [name]: JSON.stringify(value) } }))?.rewards[0]?.value;
  expect(legacy({ type: 'reward', value: 0.25 })).toBe(0.25);
  expect(legacy({ type: 'reward', value: null })).toBeUndefined();
  expect(legacy({ type: 'other', value: 1 })).toBeUndefined();
  expect(rewardFromSpan(aSpan({ attributes: { [name]: 'no json' } }))).toBeNull();
});

test('linked spans match all links; without links there are no matches', () => {
  const spans = [
    aSpan({ spanId: 'a', attributes: { 'gen_ai.response.id': 'r1', kind: 'x' } }),
    aSpan({ spanId: 'b', attributes: { 'gen_ai.response.id': 'r1', kind: 'y' } }),
  ];
  const found = (links: Readonly<Record<string, string>>): readonly string[] =>
    findLinkedSpans(spans, links).map((span) => span.spanId);
  expect(found({ 'gen_ai.response.id': 'r1' })).toEqual(['a', 'b']);
  expect(found({ 'gen_ai.response.id': 'r1', kind: 'y' })).toEqual(['b']);
  expect(found({ span_id: 'a', trace_id: spans[0]?.traceId ?? '' })).toEqual(['a']);
  expect(found({})).toEqual([]);
});

test('emitted spans carry the name and path of their agent', () => {
  const { spans } = recorded(() => {
    emitMessage('outside of any agent');
    withAgent('writer', () =>
      withAgent('critic', () => {
        emitMessage('too long');
        emitReward(1);
        asOperation(() => 'done', { name: 'cut' })();
      }),
    );
  });
  const agents = spans.map(({ name, attributes }) => [
    name,
    attributes['gen_ai.agent.name'],
    attributes['agent.name'],
    attributes['agentlightning.agent.path'],
  ]);
  const critic = ['critic', 'critic', 'writer>critic'];
  expect(agents).toEqual([
    ['agentlightning.message', undefined, undefined, undefined],
    ['agentlightning.message', ...critic],
    ['agentlightning.annotation', ...critic],
    ['agentlightning.operation', ...critic],
    ['invoke_agent critic', ...critic],
    ['invoke_agent writer', 'writer', 'writer', 'writer'],
  ]);
});
