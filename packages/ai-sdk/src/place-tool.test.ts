import { describe, expect, test, vi } from 'vitest';
import { placeTool } from './place-tool.ts';

interface Options {
  readonly toolCallId: string;
  readonly messages: unknown;
}

function aTool(): { execute: (input: unknown, options: Options) => unknown } {
  return { execute: vi.fn((input: unknown) => input) };
}

describe('tools that are placed while they are called', () => {
  test('calls of several operations at the same time are each run in their own place', () => {
    const add = aTool();
    const { execute } = add;
    const places: string[] = [];
    const operations = ['a', 'b'].map((name) => {
      const messages: unknown[] = [];
      const within = <TResult>(run: () => TResult): TResult => {
        places.push(name);
        return run();
      };
      // Models of different rollouts give the same ids.
      return { release: placeTool(add, { toolCallId: 'call_0', messages, within }), messages };
    });
    for (const { messages } of operations.toReversed()) {
      expect(add.execute(5, { toolCallId: 'call_0', messages })).toBe(5);
    }
    expect(add.execute(7, { toolCallId: 'call_0', messages: [] }), 'a call of nobody').toBe(7);
    expect(places).toEqual(['b', 'a']);
    operations[0]?.release();
    expect(add.execute).not.toBe(execute);
    expect(vi.isMockFunction(add.execute), 'a spy is still one').toBe(true);
    operations[1]?.release();
    expect(add.execute).toBe(execute);
  });

  test('a tool that inherits what it does inherits it again', () => {
    class Tool {
      execute(input: unknown): unknown {
        return input;
      }
    }
    const tool = new Tool();
    const release = placeTool(tool, { toolCallId: 'c', messages: null, within: (run) => run() });
    expect(Object.hasOwn(tool, 'execute')).toBe(true);
    release();
    expect(Object.hasOwn(tool, 'execute')).toBe(false);
  });

  test('a frozen tool, and one that is not there, is left alone', () => {
    const frozen = Object.freeze(aTool());
    for (const tool of [frozen, undefined]) {
      placeTool(tool, { toolCallId: 'c', messages: null, within: (run) => run() })();
    }
    expect(frozen.execute(1, { toolCallId: 'c', messages: null })).toBe(1);
  });
});
