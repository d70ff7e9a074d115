import { describe, expect, test, vi } from 'vitest';
import { patchTool } from './patch-tool.ts';

interface Options {
  readonly toolCallId: string;
  readonly messages: unknown;
}

function aTool(): { execute: (input: unknown, options: Options) => unknown } {
  return { execute: vi.fn((input: unknown) => input) };
}

describe('tools patched while they are called', () => {
  test('concurrent calls of several operations run in their own contexts', () => {
    const add = aTool();
    const { execute } = add;
    const places: string[] = [];
    const operations = ['a', 'b'].map((name) => {
      const messages: unknown[] = [];
      const within = <TResult>(run: () => TResult): TResult => {
        places.push(name);
        return run();
      };
      // Models of different rollouts may return the same ids.
      return { release: patchTool(add, { toolCallId: 'call_0', messages, within }), messages };
    });
    for (const { messages } of operations.toReversed()) {
      expect(add.execute(5, { toolCallId: 'call_0', messages })).toBe(5);
    }
    expect(add.execute(7, { toolCallId: 'call_0', messages: [] }), 'an unknown call').toBe(7);
    expect(places).toEqual(['b', 'a']);
    operations[0]?.release();
    expect(add.execute).not.toBe(execute);
    expect(vi.isMockFunction(add.execute), 'a spy stays a spy').toBe(true);
    operations[1]?.release();
    expect(add.execute).toBe(execute);
  });

  test('an inherited execute method is inherited again after the call', () => {
    class Tool {
      execute(input: unknown): unknown {
        return input;
      }
    }
    const tool = new Tool();
    const release = patchTool(tool, { toolCallId: 'c', messages: null, within: (run) => run() });
    expect(Object.hasOwn(tool, 'execute')).toBe(true);
    release();
    expect(Object.hasOwn(tool, 'execute')).toBe(false);
  });

  test('frozen and missing tools are not patched', () => {
    const frozen = Object.freeze(aTool());
    for (const tool of [frozen, undefined]) {
      patchTool(tool, { toolCallId: 'c', messages: null, within: (run) => run() })();
    }
    expect(frozen.execute(1, { toolCallId: 'c', messages: null })).toBe(1);
  });
});
