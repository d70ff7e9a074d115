import { describe, expect, test } from 'vitest';
import { hasMethod, type Method, patchMethod } from './patch-method.ts';

class Model {
  readonly name: string = 'tiny';

  ask(question: string): string {
    return `${this.name}: ${question}`;
  }
}

const loudly = (original: Method): Method =>
  function (this: unknown, ...args) {
    return `${String(original.apply(this, args))}!`;
  };

/** A class of its own for each test, with what is to be patched in it. */
function aModelClass(): { readonly Class: typeof Model; readonly prototype: Record<'ask', Method> } {
  const Class = class extends Model {
    override ask(question: string): string {
      return super.ask(question);
    }
  };
  return { Class, prototype: Class.prototype as unknown as Record<'ask', Method> };
}

describe('a patched method', () => {
  test('takes the place of the old one for objects made before and after, and gives it back exactly', () => {
    const { Class, prototype } = aModelClass();
    const before = new Class();
    const descriptor = Object.getOwnPropertyDescriptor(prototype, 'ask');
    const undo = patchMethod(prototype, 'ask', loudly);
    expect([before.ask('a'), new Class().ask('b')]).toEqual(['tiny: a!', 'tiny: b!']);
    undo();
    undo();
    expect(before.ask('a')).toBe('tiny: a');
    expect(Object.getOwnPropertyDescriptor(prototype, 'ask')).toEqual(descriptor);
  });

  test('of one object leaves the object without a method of its own again', () => {
    const model = new Model();
    const undo = patchMethod(model as unknown as Record<'ask', Method>, 'ask', loudly);
    expect([model.ask('a'), new Model().ask('a')]).toEqual(['tiny: a!', 'tiny: a']);
    undo();
    expect(Object.hasOwn(model, 'ask')).toBe(false);
  });

  test('still is whatever else the old one was', () => {
    const { prototype } = aModelClass();
    Object.assign(prototype.ask, { calls: 3 });
    patchMethod(prototype, 'ask', loudly);
    expect([Reflect.get(prototype.ask, 'calls'), prototype.ask.name, prototype.ask.length]).toEqual([3, 'ask', 1]);
  });

  test('that somebody has patched over stays beneath theirs, and only passes on', () => {
    const { Class, prototype } = aModelClass();
    const undoOurs = patchMethod(prototype, 'ask', loudly);
    const undoTheirs = patchMethod(prototype, 'ask', loudly);
    undoOurs();
    expect(new Class().ask('a')).toBe('tiny: a!');
    undoTheirs();
    expect(new Class().ask('a')).toBe('tiny: a');
  });

  test.for([null, undefined, 7, 'text', {}])('is not looked for in %o', (value) => {
    expect(hasMethod(value, 'ask')).toBe(false);
  });
});
