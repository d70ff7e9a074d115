import type { JsonValue } from '@agentlightning/core';
import type { SeededRandom } from './seeded-random.ts';

const texts: readonly [string, ...string[]] = [
  '',
  'policy',
  'x'.repeat(5000),
  '\u0000\u0007\u001b[2J',
  '\ud800 alone',
  '../../etc/passwd',
  'http://169.254.169.254/latest/meta-data',
  '$(id)',
  'data: [DONE]\n\n',
  '🙂'.repeat(50),
  'a\r\nx-injected: 1',
];

const numbers: readonly [number, ...number[]] = [0, -1, 1, 0.5, 1e308, -1e308, 2 ** 53, 1e-320, 4096];

const names: readonly [string, ...string[]] = [
  '__proto__',
  'constructor',
  'toString',
  'stream',
  'messages',
  'n',
  'model',
  'tools',
  'stop',
  'logprobs',
  'return_token_ids',
  'stream_options',
];

/** A random JSON value, usually invalid in its position. */
export function fuzzValue(random: SeededRandom, depth = 0): JsonValue {
  const kind = random.below(depth > 4 ? 4 : 7);
  if (kind === 0) return null;
  if (kind === 1) return random.happens(0.5);
  if (kind === 2) return random.of(numbers);
  if (kind === 3) return random.of(texts);
  if (kind === 4) return Array.from({ length: random.below(6) }, () => fuzzValue(random, depth + 1));
  if (kind === 5) return nested(random.below(300));
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.of(names), fuzzValue(random, depth + 1)]),
  );
}

/** A copy of a body with some parts removed or replaced. */
export function damaged(random: SeededRandom, value: JsonValue, probability = 0.15): JsonValue {
  if (random.happens(probability)) return fuzzValue(random);
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    return items.filter(() => !random.happens(0.05)).map((item) => damaged(random, item, probability));
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(() => !random.happens(0.05));
  const more: [string, JsonValue][] = random.happens(0.3) ? [[random.of(names), fuzzValue(random)]] : [];
  return Object.fromEntries([
    ...entries.map(([name, item]): [string, JsonValue] => [name, damaged(random, item, probability)]),
    ...more,
  ]);
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
