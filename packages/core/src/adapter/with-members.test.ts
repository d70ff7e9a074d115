import { expect, test } from 'vitest';
import { withMembers } from './tap-generator.ts';

class Counter {
  #count = 1;

  get count(): number {
    return this.#count;
  }

  add(more: number): number {
    this.#count += more;
    return this.#count;
  }
}

test('replaced members hide the own ones, and other methods use private fields of the object', () => {
  const counter = new Counter();
  const same = withMembers(counter, { name: 'ours', [Symbol.toStringTag]: 'Counted' });
  expect([same.add(2), same.count, counter.count]).toEqual([3, 3, 3]);
  expect(Reflect.get(same, 'name')).toBe('ours');
  expect(Reflect.get(same, Symbol.toStringTag)).toBe('Counted');
  expect(same).toBeInstanceOf(Counter);
  expect(withMembers(counter, { add: undefined }).add).toBeUndefined();
});
