import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { lastOutput, OutputTail } from './output-tail.ts';

async function linesOf(output: string): Promise<readonly string[]> {
  const stream = Readable.from([output]);
  const kept = new OutputTail(stream);
  await finished(stream);
  return kept.lines;
}

test('the reason why memory ran out is kept, without the native stack after it', async () => {
  const reason = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory';
  const frames = Array.from(
    { length: 30 },
    (_, index) => `${String(index + 1).padStart(2)}: 0xb78d${index} v8::f() [node]`,
  );
  const lines = await linesOf(['started', reason, '----- Native stack trace -----', '', ...frames, ''].join('\n'));
  expect(lines).toEqual(['started', reason]);
  expect(lastOutput(lines)).toBe(`; last output: started / ${reason}`);
});

test('the last 20 lines are kept', async () => {
  const all = Array.from({ length: 25 }, (_, index) => `line ${index}`);
  expect(await linesOf(`${all.join('\n')}\n`)).toEqual(all.slice(5));
  expect(lastOutput([])).toBe('');
});
