import type { JsonValue } from '@agentlightning/core';
import type { Dice } from './dice.ts';

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

/** Any JSON value, seldom one that belongs where it is put. */
export function oddValue(dice: Dice, depth = 0): JsonValue {
  const kind = dice.below(depth > 4 ? 4 : 7);
  if (kind === 0) return null;
  if (kind === 1) return dice.happens(0.5);
  if (kind === 2) return dice.of(numbers);
  if (kind === 3) return dice.of(texts);
  if (kind === 4) return Array.from({ length: dice.below(6) }, () => oddValue(dice, depth + 1));
  if (kind === 5) return nested(dice.below(300));
  return Object.fromEntries(Array.from({ length: dice.below(5) }, () => [dice.of(names), oddValue(dice, depth + 1)]));
}

/** A body some of whose parts are lost, or are something else. */
export function damaged(dice: Dice, value: JsonValue, probability = 0.15): JsonValue {
  if (dice.happens(probability)) return oddValue(dice);
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    return items.filter(() => !dice.happens(0.05)).map((item) => damaged(dice, item, probability));
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(() => !dice.happens(0.05));
  const more: [string, JsonValue][] = dice.happens(0.3) ? [[dice.of(names), oddValue(dice)]] : [];
  return Object.fromEntries([
    ...entries.map(([name, item]): [string, JsonValue] => [name, damaged(dice, item, probability)]),
    ...more,
  ]);
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
