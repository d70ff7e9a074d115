import { describe, expect, test } from 'vitest';
import { hasMethod, type Method, patchMethod, patchMethods } from './patch-method.ts';

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

/** A separate class for each test, with the method to patch. */
function aModelClass(): { readonly Class: typeof Model; readonly prototype: Record<'ask', Method> } {
  const Class = class extends Model {
    override ask(question: string): string {
      return super.ask(question);
    }
  };
  return { Class, prototype: Class.prototype as unknown as Record<'ask', Method> };
}

describe('method patch', () => {
  test('applies to existing and new objects, and its undo restores the original', () => {
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

  test('on one object is removed without leaving an own property', () => {
    const model = new Model();
    const undo = patchMethod(model as unknown as Record<'ask', Method>, 'ask', loudly);
    expect([model.ask('a'), new Model().ask('a')]).toEqual(['tiny: a!', 'tiny: a']);
    undo();
    expect(Object.hasOwn(model, 'ask')).toBe(false);
  });

  test('keeps the other properties of the original', () => {
    const { prototype } = aModelClass();
    Object.assign(prototype.ask, { calls: 3 });
    patchMethod(prototype, 'ask', loudly);
    expect([Reflect.get(prototype.ask, 'calls'), prototype.ask.name, prototype.ask.length]).toEqual([3, 'ask', 1]);
  });

  test('beneath a later foreign patch stays and only delegates after undo', () => {
    const { Class, prototype } = aModelClass();
    const undoOurs = patchMethod(prototype, 'ask', loudly);
    const undoTheirs = patchMethod(prototype, 'ask', loudly);
    undoOurs();
    expect(new Class().ask('a')).toBe('tiny: a!');
    undoTheirs();
    expect(new Class().ask('a')).toBe('tiny: a');
  });

  test('of several names skips missing methods', () => {
    const { Class, prototype } = aModelClass();
    const seen: string[] = [];
    const undos = patchMethods(prototype, ['ask', 'askLater'], (original, name) => {
      seen.push(name);
      return loudly(original);
    });
    expect([new Class().ask('a'), seen]).toEqual(['tiny: a!', ['ask']]);
    for (const undo of undos) undo();
    expect([new Class().ask('a'), Object.hasOwn(prototype, 'askLater')]).toEqual(['tiny: a', false]);
    expect([undos.length, patchMethods(null, ['ask'], loudly)]).toEqual([1, []]);
  });

  test.for([null, undefined, 7, 'text', {}])('is not found in %o', (value) => {
    expect(hasMethod(value, 'ask')).toBe(false);
  });
});
